//! Reads htsim's connection matrices (`.cm`): `Nodes N`, `Connections M`, then
//! `src->dst id N start PS size BYTES`, one per line.

use crate::text::{Lines, decimal, shown, whole, words};
use crate::{Generated, LocalFlows, Place, Template, TrafficError};
use afflux_net::spec::Start;
use afflux_units::Time;
use std::io::BufRead;
use std::path::Path;

/// Options for reading a connection matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixOptions {
    /// Number of hosts, which are numbered `0..hosts`. The file's `Nodes` may be fewer.
    pub hosts: u32,
    pub local: LocalFlows,
    /// Largest number of flows. A file with more is refused.
    pub most: u64,
}

impl MatrixOptions {
    pub fn new(hosts: u32) -> Self {
        MatrixOptions { hosts, local: LocalFlows::Refuse, most: u64::MAX }
    }
}

const FORM: &str = "`src->dst id N start PS size BYTES`";
const KEYS: [&str; 8] =
    ["id", "start", "size", "prio", "trigger", "send_done_trigger", "recv_done_trigger", "addon"];

/// Returns the number of nodes that a matrix is for.
pub fn nodes(file: &Path) -> Result<u32, TrafficError> {
    let mut lines = Lines::new(crate::text::open(file)?, file);
    let mut header = Header::default();
    while header.nodes.is_none() {
        let Some(line) = lines.next_filled()? else { break };
        header
            .take(line)
            .map_err(|(found, expected)| TrafficError::input(lines.place(), found, expected))?;
    }
    header.nodes.ok_or_else(|| {
        TrafficError::input(Place::whole(file), "no `Nodes`", "`Nodes N` in the first lines")
    })
}

/// Reads a connection matrix. Identifiers are kept if every connection has one. Starts (in
/// picoseconds) are rounded to nanoseconds.
pub fn read(
    file: &Path,
    options: &MatrixOptions,
    template: &Template,
) -> Result<Generated, TrafficError> {
    read_from(crate::text::open(file)?, file, options, template)
}

/// Reads a connection matrix from the text of `file`.
pub fn read_from(
    reader: impl BufRead,
    file: &Path,
    options: &MatrixOptions,
    template: &Template,
) -> Result<Generated, TrafficError> {
    let mut lines = Lines::new(reader, file);
    let mut header = Header::default();
    let mut seen = Seen { all_have_ids: true, ..Seen::default() };
    let mut given = Generated::default();
    // Line of each identifier, to report identifiers that occur twice.
    let mut at: Vec<(i64, u64)> = Vec::new();
    while let Some(line) = lines.next_filled()? {
        let outcome = if line.windows(2).any(|pair| pair == b"->") {
            Connection::parse(line, &header)
                .and_then(|connection| connection.collect(options, template, &mut given, &mut seen))
        } else {
            header.take(line).map(|()| None)
        };
        let id = outcome
            .map_err(|(found, expected)| TrafficError::input(lines.place(), found, expected))?;
        at.extend(id.map(|id| (id, lines.number)));
    }
    let whole_file = |found: String, expected: String| {
        Err(TrafficError::input(Place::whole(file), found, expected))
    };
    if seen.connections == 0 {
        return whole_file("no connections".into(), FORM.into());
    }
    if header.connections.is_some_and(|announced| announced != seen.connections) {
        return whole_file(
            format!("{} connections", seen.connections),
            format!("{}, as `Connections` says", header.connections.unwrap_or(0)),
        );
    }
    given.own_ids = seen.all_have_ids;
    if given.own_ids {
        given.distinct(|id| {
            Place::line(
                file,
                at.iter().rev().find(|(other, _)| *other == id).map_or(0, |(_, line)| *line),
            )
        })?;
    }
    let without_id = if seen.all_have_ids { 0 } else { at.len() as u64 };
    for (count, what) in [
        (without_id, "`id` fields are left out, because not every connection has one"),
        (seen.dropped, "connections from a host to itself were left out"),
        (seen.rounded, "starts were rounded to whole nanoseconds"),
        (seen.priorities, "`prio` fields are left out"),
    ] {
        if count > 0 {
            given.notes.push(format!("{}: {count} {what}", file.display()));
        }
    }
    Ok(given.finish())
}

#[derive(Default)]
struct Header {
    nodes: Option<u32>,
    connections: Option<u64>,
}

#[derive(Default)]
struct Seen {
    connections: u64,
    all_have_ids: bool,
    dropped: u64,
    rounded: u64,
    priorities: u64,
}

/// Text of an error: what was found, and what was expected.
type Wrong = (String, String);

impl Header {
    fn take(&mut self, line: &[u8]) -> Result<(), Wrong> {
        let fields: Vec<&[u8]> = words(line).collect();
        let count = || match fields[..] {
            [_, count] => whole(count),
            _ => None,
        };
        match fields[0] {
            b"Nodes" if self.nodes.is_some() => {
                return Err((shown(line), "`Nodes` once".to_string()));
            }
            b"Connections" if self.connections.is_some() => {
                return Err((shown(line), "`Connections` once".to_string()));
            }
            b"Nodes" => {
                self.nodes = Some(
                    count()
                        .and_then(|count| u32::try_from(count).ok())
                        .ok_or_else(|| (shown(line), "`Nodes N`".to_string()))?,
                );
            }
            b"Connections" => {
                self.connections =
                    Some(count().ok_or_else(|| (shown(line), "`Connections N`".to_string()))?)
            }
            b"Triggers" | b"Failures" if count() == Some(0) => {}
            b"Triggers" | b"Failures" | b"trigger" | b"failure" => {
                return Err((
                    shown(line),
                    "a matrix without triggers and failures, which are not supported".to_string(),
                ));
            }
            _ => return Err((shown(line), format!("`Nodes N`, `Connections N` or {FORM}"))),
        }
        Ok(())
    }
}

struct Connection {
    src: u32,
    dst: u32,
    id: Option<i64>,
    start_ps: u64,
    bytes: u64,
    priority: bool,
}

impl Connection {
    fn parse(line: &[u8], header: &Header) -> Result<Self, Wrong> {
        let mut fields = words(line);
        let pair = fields.next().unwrap_or_default();
        let nodes = header.nodes.unwrap_or(u32::MAX);
        let node = |text: &[u8]| {
            whole(text).and_then(|node| u32::try_from(node).ok()).filter(|node| *node < nodes)
        };
        let arrow = pair.windows(2).position(|pair| pair == b"->");
        let ends = arrow.and_then(|arrow| Some((node(&pair[..arrow])?, node(&pair[arrow + 2..])?)));
        let (src, dst) = ends.ok_or_else(|| {
            (
                shown(pair),
                match header.nodes {
                    Some(nodes) => format!("`src->dst`, two nodes below {nodes}"),
                    None => "`src->dst`, two nodes".to_string(),
                },
            )
        })?;
        let (mut id, mut start_ps, mut bytes, mut priority) = (None, None, None, false);
        while let Some(key) = fields.next() {
            let unsupported =
                |what: &str| Err((shown(key), format!("{FORM}: {what} are not supported")));
            match key {
                b"trigger" | b"send_done_trigger" | b"recv_done_trigger" => {
                    return unsupported("triggers (connections that start others)");
                }
                b"addon" => return unsupported("connections that grow"),
                b"id" | b"start" | b"size" | b"prio" => {}
                _ => {
                    let near = crate::spelling::nearest(&String::from_utf8_lossy(key), &KEYS)
                        .map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
                    return Err((shown(key), format!("{FORM}{near}")));
                }
            }
            let twice = match key {
                b"id" => id.is_some(),
                b"start" => start_ps.is_some(),
                b"size" => bytes.is_some(),
                _ => priority,
            };
            if twice {
                return Err((format!("{} twice", shown(key)), format!("{FORM}, each once")));
            }
            let value = fields.next().unwrap_or_default();
            let wrong = |expected: &str| {
                (format!("{} {}", String::from_utf8_lossy(key), shown(value)), expected.to_string())
            };
            match key {
                b"id" => {
                    id = Some(
                        whole(value)
                            .and_then(|id| i64::try_from(id).ok())
                            .ok_or_else(|| wrong("`id` and a whole number"))?,
                    )
                }
                b"start" => {
                    start_ps =
                        Some(decimal(value, 1).filter(|ps| *ps <= Time::LATEST.0).ok_or_else(
                            || wrong("`start` and a time in picoseconds, up to 160 h"),
                        )?)
                }
                b"size" => {
                    bytes = Some(whole(value).filter(|bytes| *bytes > 0).ok_or_else(|| {
                        wrong(
                            "`size` and at least one byte (endless connections are not supported)",
                        )
                    })?)
                }
                _ => {
                    whole(value).ok_or_else(|| wrong("`prio` and a whole number"))?;
                    priority = true;
                }
            }
        }
        match (start_ps, bytes) {
            (Some(start_ps), Some(bytes)) => {
                Ok(Connection { src, dst, id, start_ps, bytes, priority })
            }
            (None, _) => Err(("no `start`".to_string(), FORM.to_string())),
            _ => Err(("no `size` (an endless connection)".to_string(), FORM.to_string())),
        }
    }

    /// Adds the flow of the connection. Returns its identifier.
    fn collect(
        self,
        options: &MatrixOptions,
        template: &Template,
        given: &mut Generated,
        seen: &mut Seen,
    ) -> Result<Option<i64>, Wrong> {
        if let Some(host) = [self.src, self.dst].into_iter().find(|host| *host >= options.hosts) {
            return Err((
                format!("host {host}"),
                format!("hosts from 0 to {}", i64::from(options.hosts) - 1),
            ));
        }
        seen.connections += 1;
        if seen.connections > options.most {
            return Err((
                format!("connection {}", seen.connections),
                format!("at most {}: memory has no room for more", options.most),
            ));
        }
        seen.rounded += u64::from(!self.start_ps.is_multiple_of(1_000));
        seen.priorities += u64::from(self.priority);
        seen.all_have_ids &= self.id.is_some();
        let start = Start::At(Time::from_ns(Time(self.start_ps).round_ns()));
        let flow = template.flow(self.id.unwrap_or(0), self.src, self.dst, self.bytes, start);
        match options.local {
            _ if self.src != self.dst => given.flows.push(flow),
            LocalFlows::Instant => given.local.push(flow),
            LocalFlows::Drop => seen.dropped += 1,
            LocalFlows::Refuse => {
                return Err((format!("`{0}->{0}`", self.src), "two different hosts".to_string()));
            }
        }
        Ok(self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &[u8]) -> Result<Generated, TrafficError> {
        read_from(text, Path::new("m.cm"), &MatrixOptions::new(16), &Template::default())
    }

    #[test]
    fn reads_a_permutation() {
        let given =
            parse(b"Nodes 16\nConnections 3\n# comment\n9->4 id 1 start 0 size 10000000\n2->9 id 2 start 1500.0 size 1\n3->2 start 900 id 7 prio 3 size 5\n")
                .unwrap();
        let flows: Vec<_> = given
            .flows
            .iter()
            .map(|flow| (flow.id, flow.src, flow.dst, flow.bytes, flow.start))
            .collect();
        let at = |ns| Start::At(Time::from_ns(ns));
        assert_eq!(flows, [(1, 9, 4, 10_000_000, at(0)), (7, 3, 2, 5, at(1)), (2, 2, 9, 1, at(2))]);
        assert!(given.own_ids && given.notes.len() == 2, "{:?}", given.notes);
        assert!(!parse(b"1->2 start 0 size 5\n").unwrap().own_ids);
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line, says) in [
            (
                "Nodes 16\n1->2 id 1 trigger 4 size 5",
                Some(2),
                "triggers (connections that start others) are not supported",
            ),
            ("Nodes 16\n1->2 id 1 start 0 size 5 send_done_trigger 1", Some(2), "not supported"),
            ("Nodes 16\nTriggers 2\n", Some(2), "without triggers"),
            ("Nodes 16\ntrigger id 1 oneshot\n", Some(2), "without triggers"),
            ("Nodes 4\n1->4 start 0 size 5", Some(2), "two nodes below 4"),
            ("Nodes 40\n1->20 start 0 size 5", Some(2), "hosts from 0 to 15"),
            ("1->2 id 3 start 0 size 1\n\n2->1 id 3 start 1 size 9", Some(3), "3 a second time"),
            ("1->2 start 0 size 0", Some(1), "endless"),
            ("1->2 start 0", Some(1), "no `size`"),
            ("1->2 size 5", Some(1), "no `start`"),
            ("1->1 start 0 size 5", Some(1), "two different hosts"),
            ("1->2 strat 0 size 5", Some(1), "did you mean `start`"),
            ("1->2 start", Some(1), "start nothing"),
            ("Connections 2\n1->2 start 0 size 5", None, "found 1 connections, expected 2"),
            ("Nodes 3\n", None, "no connections"),
            ("hello\n", Some(1), "`Nodes N`"),
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.line(), line, "{text}: {error}");
            assert!(error.to_string().contains(says), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(text in prop::collection::vec(prop::sample::select(&b"0159 ->\nidstarz#\xffN"[..]), 0..80)) {
            let _ = parse(&text);
        }
    }

    /// Tests the matrices of the reference runs.
    #[test]
    fn matrices_of_the_reference_runs() {
        let folder = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../validation/reference/htsim");
        for (name, hosts) in [("perm_128n_10000000B.cm", 128), ("perm_1024n_1000000B.cm", 1_024)] {
            let file = folder.join(name);
            assert_eq!(nodes(&file).unwrap(), hosts);
            let given = read(&file, &MatrixOptions::new(hosts), &Template::default()).unwrap();
            assert_eq!(given.flows.len() as u32, hosts);
        }
    }
}
