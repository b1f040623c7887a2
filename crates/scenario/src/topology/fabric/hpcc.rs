//! Reads topology files of HPCC and ConWeave: `nodes switches links`; the switches' numbers; then
//! `a b rate delay error` per link.

use super::kind::{Fabric, Site, fabric};
use crate::inputs::text_of;
use crate::topology::builder::{Builder, check_delay, check_size, wrong_rate};
use crate::topology::connected;
use crate::topology::written::{ChangeKeys, NameKeys};
use afflux_config::keys;
use afflux_config::tree::{Key, Wrong};
use afflux_net::Model;
use afflux_net::spec::{NodeId, Topology};
use afflux_units::{Probability, Rate, Span};
use std::fmt::Display;
use std::str::{FromStr, SplitWhitespace};

keys! {
    /// A file of HPCC's and ConWeave's simulators: `nodes switches links`; the switches' numbers; then `a b rate delay error` per link.
    /// Nodes that are not switches are hosts, in the order of their numbers; switches become `switch0` …, also in the order of their numbers.
    pub struct Keys as "Hpcc" => Hpcc {
        /// The file; a relative path is relative to the scenario file.
        file: String = required;
        /// SHA-256 of the file, hexadecimal: another content is refused. Default: the digest of the file that is found.
        sha256: String = none;
        @names: NameKeys;
        @changes: ChangeKeys;
    }
}

impl Fabric for Keys {
    fn build(&mut self, key: &Key, site: &Site) -> Result<Topology, Wrong> {
        let at = key.clone().name("file");
        let file = self.file.as_mut().expect("required");
        let (path, bytes) = site.inputs.read(file, &mut self.sha256, &at)?;
        let text = text_of(bytes)
            .map_err(|(line, message)| Wrong::input(at.clone(), &path, Some(line), message))?;
        let topology =
            read(&text).map_err(|(line, message)| Wrong::input(at, &path, line, message))?;
        Builder::from(topology).named_by(&self.names, key)
    }
    fn file(&mut self) -> Option<&mut String> {
        self.file.as_mut()
    }
}

pub const MODEL: Model = fabric(
    "hpcc",
    "topology files of HPCC and ConWeave",
    "hosts, switches, rates, delays and error rates of links",
    "error rates lose frames in both directions",
);

/// An error in the file: its line (from 1, if known) and a message.
type At = (Option<usize>, String);

fn read(text: &str) -> Result<Topology, At> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line))
        .filter(|(_, line)| !line.trim().is_empty());
    let (at, first) = lines.next().ok_or((
        None,
        "the file is empty: the first line is \"nodes switches links\"".to_string(),
    ))?;
    if first.split_whitespace().count() == 6 {
        return Err((Some(at), "six fields are SimAI's form of a topology: the first line here is \"nodes switches links\"".into()));
    }
    let mut words = Words { line: at, words: first.split_whitespace() };
    let (nodes, switches, links): (u64, u64, u64) = (
        words.whole("the number of nodes")?,
        words.whole("the number of switches")?,
        words.whole("the number of links")?,
    );
    if switches > nodes {
        return Err((
            Some(at),
            format!(
                "{switches} switches among {nodes} nodes: the first line is \"nodes switches links\""
            ),
        ));
    }
    if switches == nodes {
        return Err((Some(at), "no hosts: all nodes are switches".into()));
    }
    check_size(nodes, links, 0, &Key::default()).map_err(|wrong| (Some(at), wrong.message))?;

    let mut is_switch = vec![false; nodes as usize];
    if switches > 0 {
        let (at, second) = lines
            .next()
            .ok_or((Some(at + 1), "the line of the switches' numbers is missing".to_string()))?;
        let mut words = Words { line: at, words: second.split_whitespace() };
        for _ in 0..switches {
            let id = words.node("a switch's number", nodes)?;
            if std::mem::replace(&mut is_switch[id], true) {
                return Err((Some(at), format!("switch {id} is listed twice")));
            }
        }
        words.end()?;
    }
    let mut builder = Builder::default();
    let mut node_of = vec![0 as NodeId; nodes as usize];
    for (id, _) in is_switch.iter().enumerate().filter(|(_, switch)| !**switch) {
        node_of[id] = builder.hosts();
        builder.host(None);
    }
    for (number, (id, _)) in is_switch.iter().enumerate().filter(|(_, switch)| **switch).enumerate()
    {
        node_of[id] = builder.switch(format!("switch{number}"), 1, None);
    }
    let mut found = 0;
    for (at, line) in lines.by_ref().take(links as usize) {
        let mut words = Words { line: at, words: line.split_whitespace() };
        let (a, b) = (words.node("a node's number", nodes)?, words.node("a node's number", nodes)?);
        let rate: Rate = words.next("a rate, as in 100Gbps")?;
        let delay: Span = words.next("a delay, as in 1000ns")?;
        let loss: Probability = words.next("an error rate from 0 to 1")?;
        words.end()?;
        if a == b {
            return Err((Some(at), format!("a link from node {a} to itself")));
        }
        if let Some(message) = wrong_rate(rate) {
            return Err((Some(at), message));
        }
        check_delay(delay, Key::default()).map_err(|wrong| (Some(at), wrong.message))?;
        builder.lossy_link(node_of[a], node_of[b], rate, delay, loss);
        found += 1;
    }
    if found < links {
        return Err((None, format!("found {found} links: the first line says {links}")));
    }
    // ConWeave's files have text after the links.
    let is_link = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.len() >= 3
            && words[..2].iter().all(|word| word.parse::<u64>().is_ok())
            && words[2].parse::<Rate>().is_ok()
    };
    if let Some((at, _)) = lines.find(|(_, line)| is_link(line)) {
        return Err((Some(at), format!("link {}: the first line says {links}", links + 1)));
    }
    let mut topology = builder.finish();
    connected::find_tiers(&mut topology);
    Ok(topology)
}

struct Words<'a> {
    line: usize,
    words: SplitWhitespace<'a>,
}

impl Words<'_> {
    fn next<T: FromStr<Err: Display>>(&mut self, what: &str) -> Result<T, At> {
        let word = self
            .words
            .next()
            .ok_or_else(|| (Some(self.line), format!("the line ends where {what} is expected")))?;
        word.parse().map_err(|error: T::Err| {
            (
                Some(self.line),
                format!(
                    "found \"{word}\" where {what} is expected ({})",
                    error.to_string().replace('`', "\"")
                ),
            )
        })
    }
    fn whole(&mut self, what: &str) -> Result<u64, At> {
        let word = self
            .words
            .next()
            .ok_or_else(|| (Some(self.line), format!("the line ends where {what} is expected")))?;
        // Rust's parser accepts a plus sign, but these files do not use one.
        let number = if word.starts_with('+') { None } else { word.parse().ok() };
        number.ok_or_else(|| {
            (
                Some(self.line),
                format!("found \"{word}\" where {what} is expected: write a whole number from 0"),
            )
        })
    }
    fn end(&mut self) -> Result<(), At> {
        self.words.next().map_or(Ok(()), |word| {
            Err((Some(self.line), format!("found \"{word}\" where the line is expected to end")))
        })
    }
    fn node(&mut self, what: &str, nodes: u64) -> Result<usize, At> {
        let id = self.whole(what)?;
        if id >= nodes {
            Err((
                Some(self.line),
                format!("node {id} is out of range: nodes are 0 to {}", nodes.saturating_sub(1)),
            ))
        } else {
            Ok(id as usize)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_format() {
        let topology = read("5 2 4\n3 4\n0 3 100Gbps 1000ns 0\n1 3 100Gbps 1000ns 0\n2 4 40Gbps 1us 0.01\n3 4 100Gbps 1000ns 0\n").unwrap();
        assert_eq!((topology.hosts, topology.nodes.len(), topology.links.len()), (3, 5, 4));
        assert_eq!(topology.nodes[3].name, "switch0");
        assert_eq!(
            (topology.nodes[0].group, topology.nodes[2].group, topology.nodes[4].group),
            (Some(0), Some(1), Some(1))
        );
        assert_eq!(topology.links[2].loss.get(), 0.01);
    }

    #[test]
    fn says_where_it_is_wrong() {
        for (text, line, says) in [
            ("", None, "the file is empty"),
            ("2 x 1\n", Some(1), "found \"x\" where the number of switches is expected"),
            ("2 2 1\n0 1\n", Some(1), "no hosts: all nodes are switches"),
            ("2 1 1\n7\n", Some(2), "node 7 is out of range: nodes are 0 to 1"),
            ("2 1 1\n1\n0 1 100 1us 0\n", Some(3), "where a rate, as in 100Gbps is expected"),
            ("2 1 1\n1\n0 1 0Gbps 1us 0\n", Some(3), "a link has a rate above 0"),
            ("2 1 1\n1\n0 0 1Gbps 1us 0\n", Some(3), "a link from node 0 to itself"),
            ("2 1 2\n1\n0 1 1Gbps 1us 0\n", None, "found 1 links: the first line says 2"),
            (
                "3 1 1\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n",
                Some(4),
                "link 2: the first line says 1",
            ),
            (
                "2 1 1\n1\n0 1 1Gbps 1us 0 7\n",
                Some(3),
                "found \"7\" where the line is expected to end",
            ),
            (
                "2 1 1\n1 0\n0 1 1Gbps 1us 0\n",
                Some(2),
                "found \"0\" where the line is expected to end",
            ),
            ("27 8 2 9 40 H100\n", Some(1), "SimAI's form"),
        ] {
            let (at, message) = read(text).unwrap_err();
            assert_eq!(at, line, "{message}");
            assert!(message.contains(says), "{message}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]
        #[test]
        fn never_panics(pieces in proptest::collection::vec("[0-9]{1,2}|[0-9]Gbps|1us|0|-1|x|\n", 0..40)) {
            if let Ok(topology) = read(&pieces.join(" ")) {
                let _ = connected::check(&topology, &Key::default());
            }
        }
    }
}
