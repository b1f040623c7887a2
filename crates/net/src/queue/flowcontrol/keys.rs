//! Keys of priority flow control (IEEE 802.1Qbb): `[switch.pfc]` and `[host.storm]`.

use afflux_config::keys::{at_most_160_h, meaningless};
use afflux_config::schemars::json_schema;
use afflux_config::serde::de::{self, Error, IntoDeserializer};
use afflux_config::serde::{Deserialize, Serialize, Serializer};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Off, Or, Size, Word, as_written, form, keys, words};
use afflux_units::{Bytes, ParseError, Span, Time};

keys! {
    /// Priority flow control (IEEE 802.1Qbb): lossless priorities, which are paused before their
    /// memory runs out. With `sharing = "sonic"`, `"conweave"`, `"hpcc"` or `"voq"`.
    pub struct PfcKeys as "Pfc" => Pfc(own: Formula, bypass: u8) of written {
        /// Lossless priorities. Default: `[3, 4]` (SONiC's `pfc_enable`).
        priorities: Vec<u8> as u8 = (vec![3, 4]),
            check |given, key| lossless(&given, bypass, key);
        /// Memory of each port and lossless priority for frames that still arrive after XOFF: a
        /// size, or a formula's name. Default: `"sonic"`, `"conweave"` or `"hpcc"`, as `sharing`
        /// (`"sonic"` with `"voq"`); SONiC has `"160000B"` on Trident 3 at every rate.
        headroom: Headroom = (Headroom::Formula(own)),
            check |given, key| match given {
                Headroom::Bytes(bytes) if bytes >= 1 << 40 => Err(Wrong::at(key, format!("\"{}\": write a size up to 1TB", Bytes(bytes)))),
                given => Ok(given),
            };
        /// With a formula: length of the cables. Default: from each link's delay, at 1.98e8 m/s;
        /// SONiC has `"5m"` to servers, `"40m"` and `"300m"` between switches.
        cable: Length as Option<f64> = none,
            check |Length(metres), key| match headroom {
                Headroom::Bytes(_) => Err(meaningless(key, "a headroom in bytes")),
                Headroom::Formula(_) => Ok(metres),
            };
        /// Duration of a PAUSE frame, in quanta of 512 bit times. Default: 65535, 335.5 us at 100
        /// Gbps.
        quanta: u16 = {(written.pause_time.is_none() && own != Formula::Conweave).then_some(u16::MAX)},
            in 1 to 65535, check |quanta, key| match written.pause_time {
                Some(_) => Err(meaningless(key, "pause_time")),
                None => Ok(quanta),
            };
        /// Duration of a PAUSE frame, as a time instead of `quanta`, rounded up to whole quanta.
        /// Default: with `sharing = "conweave"` `"5us"`.
        pause_time: Duration = {(own == Formula::Conweave && quanta.is_none()).then_some(Duration(Span::from_us(5)))}, check positive;
        /// Time at which a PAUSE frame is repeated. Default: `"half"`, with `sharing = "conweave"`
        /// `"arrival"`.
        refresh: Refresh = (if own == Formula::Conweave { Refresh::OnArrival } else { Refresh::AtHalf });
        /// Time from the arrival of a PAUSE frame at the peer to its effect there, or `"standard"`:
        /// the time that IEEE 802.3 annex 31B allows at the link's rate (67 quanta at 10 Gbps to
        /// 905 at 400 Gbps).
        response: Or<Standard, Duration> as Option<Span> = "standard", check |given, key| match given.0 {
            Some(Duration(time)) if time > Span::from_s(1) => Err(Wrong::at(key, format!("\"{time}\": write a time up to 1s, or \"standard\""))),
            given => Ok(given.map(|Duration(time)| time)),
        };
        /// Watchdog that treats a queue that stays paused for too long as the victim of a storm, or
        /// `"off"`.
        watchdog: Or<Off, WatchdogKeys> as Option<Watchdog> = "off", table |keys, key| keys.resolve(key, priorities);
        /// Time after which a cycle of links that have paused each other is reported as a deadlock,
        /// or `"off"`.
        deadlock_after: Or<Off, Duration> as Option<Span> = "1ms",
            check |given, key| given.0.map(|time| periodic(time, key)).transpose();
    }
    plus {
        /// Duration of a PAUSE frame. A longer duration is sent as 65535 quanta.
        pause: PauseTime = pause_time.map_or(PauseTime::Quanta(quanta.unwrap_or(u16::MAX)), PauseTime::Time);
    }
}

keys! {
    /// SONiC's PFC watchdog.
    pub struct WatchdogKeys as "Watchdog" => Watchdog(lossless: u8) {
        /// A queue is in a storm if it held frames and was paused for the whole of this time.
        detection: Duration = "200ms", check positive;
        /// The storm ends when no PAUSE frame for the queue has arrived for this time. Default:
        /// twice `detection`, as with `pfcwd start`.
        restoration: Duration = (Duration(Span(2 * detection.0))), check positive;
        /// Time between two checks of the queues.
        poll: Duration = "200ms", check periodic;
        /// Action of the watchdog in a storm.
        action: StormAction = "drop";
        /// Lossless priorities that the watchdog watches. Default: all of them.
        priorities: Vec<u8> as u8 = ((0..8).filter(|priority| lossless >> priority & 1 != 0).collect()),
            check |given, key| match mask(&given, key.clone())? {
                watched if watched != 0 && watched & !lossless == 0 => Ok(watched),
                _ => Err(Wrong::at(key, "write one or more of the lossless priorities, pfc.priorities")),
            };
    }
}

keys! {
    /// A host that repeatedly sends PAUSE frames for a priority, independently of its traffic.
    #[derive(Copy)]
    pub struct StormKeys as "Storm" => Storm {
        /// Priority that is paused.
        priority: u8 = required, in 0 to 7 as "priorities from 0 to 7";
        /// Time between PAUSE frames.
        period: Duration = required, check periodic;
        /// Simulated time at which the storm begins.
        from: Duration as Time = "0ns", check |from, key| at_most_160_h(from, key).map(|from| Time(from.0));
        /// Simulated time at which the storm ends. Default: never; the scenario then needs
        /// `run.until`.
        until: Duration as Option<Time> = none, check |until, key| match at_most_160_h(until, key.clone())? {
            Span(until) if until > from.0 => Ok(Time(until)),
            until => Err(Wrong::at(key, format!("\"{until}\" is not after from = \"{}\"", Span(from.0)))),
        };
        /// Duration of each PAUSE frame. Default: 65535 quanta of 512 bit times.
        pause_time: Duration = none, check positive;
    }
    plus {
        /// Duration of each PAUSE frame.
        pause: PauseTime = pause_time.map_or(PauseTime::Quanta(u16::MAX), PauseTime::Time);
    }
}

/// Duration of a PAUSE frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseTime {
    /// Number of quanta of 512 bit times each.
    Quanta(u16),
    Time(Span),
}

words! {
    /// Condition for repeating a PAUSE frame.
    pub enum Refresh {
        /// Repeats when half of the pause time has passed, while the priority group is paused.
        #[serde(rename = "half")]
        AtHalf,
        /// Repeats with every frame that arrives while the group is above its threshold (ConWeave's
        /// ns-3).
        #[serde(rename = "arrival")]
        OnArrival,
    }
    /// Action of a watchdog in a storm.
    pub enum StormAction {
        /// The queue is emptied, and frames that arrive for it are dropped.
        Drop,
        /// PAUSE frames for the queue are ignored.
        Forward,
        /// The storm is only reported.
        Alert,
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standard;
impl Word for Standard {
    const WORD: &'static str = "standard";
}

fn positive(Duration(time): Duration, key: Key) -> Result<Span, Wrong> {
    if time.0 == 0 || time > Span::from_s(1000) {
        Err(Wrong::at(key, format!("\"{time}\": write a time above 0, up to 1000s")))
    } else {
        Ok(time)
    }
}

/// Checks a period: at least 1 ns, so that a run ends.
fn periodic(Duration(time): Duration, key: Key) -> Result<Span, Wrong> {
    if (Span::from_ns(1)..=Span::from_s(1000)).contains(&time) {
        return Ok(time);
    }
    Err(Wrong::at(key, format!("\"{time}\": write a time from \"1ns\" to \"1000s\"")))
}

/// Returns the bit mask of priorities from 0 to 7.
pub fn mask(priorities: &[u8], key: Key) -> Result<u8, Wrong> {
    match priorities.iter().find(|priority| **priority > 7) {
        Some(wrong) => Err(Wrong::at(key, format!("found {wrong}: write priorities from 0 to 7"))),
        None => Ok(priorities.iter().fold(0, |mask, priority| mask | 1 << priority)),
    }
}

/// Returns the bit mask of the lossless priorities. Priorities in `bypass` are not counted.
fn lossless(priorities: &[u8], bypass: u8, key: Key) -> Result<u8, Wrong> {
    let lossless = mask(priorities, key.clone())?;
    if lossless == 0 {
        return Err(Wrong::at(
            key,
            "found none: write the lossless priorities, as in [3, 4], or pfc = \"off\"",
        ));
    }
    if lossless & bypass != 0 {
        return Err(Wrong::at(
            key,
            format!(
                "priority {} is in mmu.bypass, so its frames are not counted and cannot be paused: remove it from one of the two",
                (lossless & bypass).trailing_zeros()
            ),
        ));
    }
    Ok(lossless)
}

/// Memory of a port and priority for frames that arrive after XOFF was sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Headroom {
    Bytes(u64),
    /// Computed from the port's rate, its cable and the largest frame.
    Formula(Formula),
}

words! {
    /// Formulas of the headroom.
    pub enum Formula {
        /// SONiC's formula (`buffer_headroom_mellanox.lua`): what is on its way when the PAUSE frame
        /// takes effect, in the worst case of cells that are almost empty.
        Sonic,
        /// The Linux driver of Mellanox's adapters: (301 + 2.16 · metres) · Gbps + 2.72 · MTU.
        Mellanox,
        /// ConWeave's ns-3: 2 · rate · delay + 2 · MTU.
        Conweave,
        /// HPCC's ns-3: 3 · rate · delay.
        Hpcc,
        /// TU Berlin's ns-3: 2 · rate · delay + 2 · MTU + 3860.
        Tub,
        /// All that can arrive before the peer stops, whatever the lengths of frames and their
        /// alignment, in bytes or cells: never too small.
        WorstCase,
    }
}

form! {
    Headroom<'de>, deserialize_str, "a size in quotes with its unit, as in \"160kB\", or a formula: \"sonic\", \"mellanox\", \"conweave\", \"hpcc\", \"tub\" or \"worst_case\"" {
        fn visit_str<E: Error>(self, text: &str) -> Result<Headroom, E> {
            let name = IntoDeserializer::<de::value::Error>::into_deserializer(text.trim());
            if let Ok(formula) = Formula::deserialize(name) {
                return Ok(Headroom::Formula(formula));
            }
            let words = |error: ParseError| {
                E::custom(format!("{}, or a formula: \"sonic\", \"mellanox\", \"conweave\", \"hpcc\", \"tub\" or \"worst_case\"", error.to_string().replace('`', "\"")))
            };
            text.parse().map(|Bytes(bytes)| Headroom::Bytes(bytes)).map_err(words)
        }
    }
    |generator| {
        json_schema!({ "description": "A size, or the name of a formula.", "anyOf": [generator.subschema_for::<Size>(), Formula::json_schema(generator)] })
    }
}
impl Serialize for Headroom {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Headroom::Bytes(bytes) => serializer.collect_str(&Bytes(*bytes)),
            Headroom::Formula(formula) => formula.serialize(serializer),
        }
    }
}
as_written!(Headroom);

/// Length in metres, written as `"40m"`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Length(pub f64);

form! {
    Length<'de>, deserialize_str, "a length in quotes, in metres, as in \"40m\"" {
        fn visit_str<E: Error>(self, text: &str) -> Result<Length, E> {
            let number = text.trim().strip_suffix('m').map(str::trim).filter(|number| number.chars().all(|c| c.is_ascii_digit() || c == '.'));
            match number.and_then(|number| number.parse().ok()).filter(|metres| *metres <= 100_000.0) {
                Some(metres) => Ok(Length(metres)),
                None => Err(E::custom(format!("\"{text}\" is not a length: write metres, up to 100000, as in \"40m\""))),
            }
        }
    }
    |_| {
        json_schema!({ "type": "string", "pattern": r"^\s*[0-9.]+\s*m\s*$", "description": "A length in metres, as in \"40m\"." })
    }
}
impl Serialize for Length {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}m", self.0))
    }
}

/// Requirements of a transport for switches that send or receive PAUSE frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pauses {
    /// Key of the scenario that sets the requirement.
    pub key: &'static str,
    /// `true`: switches must pause the priorities of the transport's flows. `false`: switches must
    /// not pause them.
    pub needed: bool,
    /// True if switches must obey PAUSE frames.
    pub obeyed: bool,
    /// Advice for the error message if switches do not meet the requirement.
    pub instead: &'static str,
}
