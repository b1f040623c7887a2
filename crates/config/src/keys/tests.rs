use super::{above_zero, up_to_a_second};
use crate::tree::{Key, Tree, Wrong};
use crate::{Auto, Duration, Off, Or, Speed, keys, merged, words};
use afflux_units::{Rate, Span};
use serde::Deserialize;

words! {
    /// Rule set.
    pub enum Rules {
        /// Rules of the RFC.
        Rfc,
        /// Rules of ns-3.
        Ns3,
    }
}
keys! {
    /// Parameters of an example.
    pub struct ExampleKeys as "Example" => Example(ns3: bool) {
        /// Rule set.
        rules: Rules = (if ns3 { Rules::Ns3 } else { Rules::Rfc }) "the stack's";
        /// Below this it grows.
        low: Duration = "50us" from "paper", check up_to_a_second;
        /// A weight.
        weight: f64 = 0.875, in 0.001 to 1.0;
        /// A number.
        number: u16 as usize = 24, in 0 to 4096 as "a number of queues from 0 to 4096", check |number, _| Ok(usize::from(number));
        /// Above this it falls.
        high: Duration = (Duration(Span(10 * low.0))) "ten times `low`";
        /// Sending quantum.
        quantum: Or<Auto, u32> = "auto";
        /// Length of a tick.
        tick: Duration = {(rules == Rules::Rfc).then(|| Duration(Span::from_ms(4)))} "`\"4ms\"` with the RFC's rules";
        /// A rate.
        rate: Speed = none, check above_zero;
    }
    check |parsed, at| if parsed.high <= parsed.low { Err(Wrong::at(at("high"), "is not above low")) } else { Ok(()) };
}

fn read(text: &str) -> Result<ExampleKeys, Wrong> {
    ExampleKeys::deserialize(&Tree::read(text).unwrap())
}

#[test]
fn defaults_are_written_down() {
    let mut written = read("weight = 0.5\nrate = \"1Gbps\"").unwrap();
    let used = written.resolve(&Key::from("a"), false).unwrap();
    let expected = Example {
        rules: Rules::Rfc,
        low: Span::from_us(50),
        weight: 0.5,
        number: 24,
        high: Span::from_us(500),
        quantum: None,
        tick: Some(Span::from_ms(4)),
        rate: Some(Rate::from_gbps(1)),
    };
    assert_eq!(used, expected);
    assert_eq!(
        toml::to_string(&written).unwrap(),
        "rules = \"rfc\"\nlow = \"50us\"\nweight = 0.5\nnumber = 24\nhigh = \"500us\"\nquantum = \"auto\"\ntick = \"4ms\"\nrate = \"1Gbps\"\n"
    );
    let mut again = written.clone();
    assert_eq!((again.resolve(&Key::from("a"), true).unwrap(), &again), (used, &written));
    let ns3 = read("").unwrap().resolve(&Key::from("a"), true).unwrap();
    assert_eq!((ns3.rules, ns3.tick, ns3.rate), (Rules::Ns3, None, None));
}

#[test]
fn what_is_wrong_is_said_with_its_key() {
    for (text, message) in [
        ("low = \"2s\"", "key a.low: \"2s\": write a time above 0, at most \"1s\""),
        ("weight = 2", "key a.weight: found 2: write a number from 0.001 to 1"),
        ("number = 5_000", "key a.number: found 5000: write a number of queues from 0 to 4096"),
        ("high = \"1us\"", "key a.high: is not above low"),
        ("rate = \"0bps\"", "key a.rate: \"0bps\": write a rate above 0"),
    ] {
        assert_eq!(
            read(text).unwrap().resolve(&Key::from("a"), false).unwrap_err().to_string(),
            message
        );
    }
    assert_eq!(
        read("lo = 1").unwrap_err().to_string(),
        "key lo: unknown key (did you mean \"low\"?); the keys here are rules, low, weight, number, high, quantum, tick, rate"
    );
}

keys! {
    /// Parameters of another.
    pub struct OtherKeys as "Other" => Other {
        /// Another weight.
        weight: f64 = 0.5;
        /// A limit.
        limit: u32 = 10;
    }
}
merged! {
    /// A table of either kind.
    pub enum Both as "Both", BothKind, &[("limit", "write number")]; {
        /// The first kind.
        example Example(ExampleKeys),
        /// The second kind.
        other Other(OtherKeys),
    }
}

#[test]
fn a_table_over_another_keeps_its_own_keys() {
    let example = read("weight = 0.25").unwrap().or(read("weight = 0.5\nnumber = 7").unwrap());
    assert_eq!(
        example,
        ExampleKeys { weight: Some(0.25), number: Some(7), ..ExampleKeys::default() }
    );
    let other = OtherKeys { weight: None, limit: Some(1) }
        .or(OtherKeys { weight: Some(1.0), limit: Some(2) });
    assert_eq!(other, OtherKeys { weight: Some(1.0), limit: Some(1) });
}

#[test]
fn tables_of_several_kinds_look_like_one() {
    let read = |text: &str| Both::deserialize(&Tree::read(text).unwrap());
    let Both::Other(mut other) = read("weight = 1\nkind = \"other\"").unwrap() else {
        panic!("the other kind")
    };
    assert_eq!(other.resolve(&Key::from("a")).unwrap(), Other { weight: 1.0, limit: 10 });
    for (text, message) in [
        (
            "kind = \"other\"\nlow = \"1us\"",
            "key low: has no effect with kind = \"other\": remove it",
        ),
        (
            "kind = \"example\"\nlimit = 1",
            "key limit: has no effect with kind = \"example\": write number",
        ),
        ("weight = 1", "the key \"kind\" is missing"),
        (
            "kind = \"other\"\nlimits = 1",
            "key limits: unknown key (did you mean \"limit\"?); the keys here are weight, limit",
        ),
    ] {
        assert_eq!(read(text).unwrap_err().to_string(), message);
    }
    let schema = schemars::schema_for!(Both).to_value();
    assert_eq!(
        schema["properties"]["weight"]["description"],
        "With `example`: A weight. Default 0.875. With `other`: Another weight. Default 0.5."
    );
    assert_eq!(
        (schema["properties"]["weight"].get("default"), &schema["properties"]["limit"]["default"]),
        (None, &10.into())
    );
}

keys! {
    /// Ends of a whole.
    pub struct EndKeys as "End" => End {
        /// Changes.
        changes "override": Vec<u32> = none;
    }
}
keys! {
    /// Parameters of a whole.
    pub struct WholeKeys as "Whole" => Whole {
        @other: OtherKeys;
        /// A number of parts.
        parts: u32 = required, in 1 to 9;
        /// A number of turns.
        turns: u8 = none, in 1 to 50 as "at least 1 turn";
        /// A share.
        share: f64 = none, in 0.0 to 1.0;
        @end: EndKeys;
    }
}

#[test]
fn embedded_keys_stand_in_the_table_itself() {
    let read = |text: &str| WholeKeys::deserialize(&Tree::read(text).unwrap());
    let text = "limit = 3\nparts = 2\noverride = [1, 2]\n";
    let mut whole = read(text).unwrap();
    assert_eq!(toml::to_string(&whole).unwrap(), text);
    let expected = Whole { parts: 2, turns: None, share: None };
    assert_eq!(whole.resolve(&Key::from("a")).unwrap(), expected);
    assert_eq!(whole.other.resolve(&Key::from("a")).unwrap(), Other { weight: 0.5, limit: 3 });
    let end = whole.end.resolve(&Key::from("a")).unwrap();
    assert_eq!(end.changes, Some(vec![1, 2]));
    let over = read("parts = 4").unwrap().or(whole);
    assert_eq!((over.parts, over.other.limit), (Some(4), Some(3)));
    for (text, message) in [
        ("limit = 3", "the key \"parts\" is missing"),
        ("parts = \"2\"", "key parts: found \"2\": write a number from 1 to 9"),
        ("parts = -1", "key parts: found -1: write a number from 1 to 9"),
        ("parts = 1.0", "key parts: found 1.0: write a whole number from 1 to 9"),
        ("parts = 1\nturns = -1", "key turns: found -1: write at least 1 turn, up to 50"),
        ("parts = 1\nshare = \"x\"", "key share: found \"x\": write a number from 0 to 1"),
        (
            "parts = 1\nlimit = -1",
            "key limit: found -1: write a whole number up to 4294967295, not negative",
        ),
        (
            "parts = 1\nlimit = 18446744073709551616",
            "key limit: found 18446744073709551616: write a whole number up to 4294967295, not negative",
        ),
        ("parts = 1\noverride = 1", "key override: found 1: write an array"),
        (
            "parts = 1\noverrides = []",
            "key overrides: unknown key (did you mean \"override\"?); the keys here are weight, limit, parts, turns, share, override",
        ),
    ] {
        assert_eq!(read(text).unwrap_err().to_string(), message);
    }
    let schema = schemars::schema_for!(WholeKeys).to_value();
    assert_eq!(
        (&schema["required"], &schema["additionalProperties"]),
        (&["parts"].into(), &false.into())
    );
    assert_eq!(schema["properties"]["weight"]["default"], 0.5);
    assert_eq!(schema["properties"]["override"]["items"]["type"], "integer");
    assert_eq!(schema.get("unevaluatedProperties"), None);
}

keys! {
    /// Parameters of an outer table.
    pub struct OuterKeys as "Outer" => Outer(most: u32) {
        /// A size.
        size: u32 = 1;
        @{
            /// A key of the owner. Default: what the owner says.
            free "loose": u32;
        };
        /// A table, or "off".
        other: Or<Off, OtherKeys> as Option<u32> = "off", table |other, key| {
            other.resolve(key).and_then(|other| if other.limit > most { Err(Wrong::at(key.clone(), "too much")) } else { Ok(other.limit) })
        };
        /// A last key.
        last: bool = false;
    }
}

#[test]
fn a_key_with_a_table_resolves_it_in_place_and_a_key_of_the_owner_stays_as_written() {
    let read = |text: &str| OuterKeys::deserialize(&Tree::read(text).unwrap());
    let mut outer = read("loose = 3\nother = { limit = 4 }").unwrap();
    assert_eq!((outer.given(), read("").unwrap().given()), (Some("loose"), None));
    let used = outer.resolve(&Key::from("a"), 9).unwrap();
    assert_eq!(used, Outer { size: 1, other: Some(4), last: false });
    assert_eq!(
        toml::to_string(&outer).unwrap(),
        "size = 1\nloose = 3\nlast = false\n\n[other]\nweight = 0.5\nlimit = 4\n"
    );
    let wrong = outer.resolve(&Key::from("a"), 3).unwrap_err().to_string();
    assert_eq!(wrong, "key a.other: too much");
    assert_eq!(read("").unwrap().resolve(&Key::from("a"), 9).unwrap().other, None);
    assert_eq!(
        read("lose = 3").unwrap_err().to_string(),
        "key lose: unknown key (did you mean \"loose\"?); the keys here are size, loose, other, last"
    );
    let schema = schemars::schema_for!(OuterKeys).to_value();
    assert_eq!(
        schema["properties"]["loose"]["description"],
        "A key of the owner. Default: what the owner says."
    );
}

#[test]
fn the_schema_has_defaults_and_ranges() {
    let schema = schemars::schema_for!(ExampleKeys).to_value();
    let key = |name: &str| schema["properties"][name].clone();
    assert_eq!(schema["title"], "Example");
    assert_eq!(key("low")["default"], "50us");
    assert_eq!(key("low")["description"], "Below this it grows. Default `\"50us\"` (paper).");
    assert_eq!((&key("low")["x-source"], key("weight").get("x-source")), (&"paper".into(), None));
    assert_eq!(
        (&key("weight")["minimum"], &key("weight")["maximum"]),
        (&0.001.into(), &1.0.into())
    );
    assert_eq!(key("weight")["description"], "A weight. Default 0.875.");
    assert_eq!((&key("number")["default"], &key("number")["maximum"]), (&24.into(), &4096.into()));
    assert_eq!(key("high")["description"], "Above this it falls. Default: ten times `low`.");
    assert_eq!(key("rate")["description"], "A rate.");
    assert_eq!(key("rate").get("default"), None);
}
