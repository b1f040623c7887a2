//! Digests of the content of a run. Equal results have equal digests, regardless of engine,
//! threads, machine and file format.
//!
//! # The encoding (version 1)
//! SHA-256 over: the name of the digest with its version (`afflux flows 1`), the number of rows,
//! and the rows in canonical order. Whole numbers are little-endian with 8 bytes (signed ones in
//! two's complement). A string is its length in bytes followed by its UTF-8. An optional value is a
//! byte 0, or a byte 1 followed by the value. Times are in picoseconds. The functions below define
//! the fields and their order.
//!
//! - `flows` ([`Hashes::result`]): in the order of the plan. The split is included if it was
//!   recorded. The end of a flow without completion time is excluded, so that digests of earlier
//!   versions stay valid.
//! - `ports` ([`Hashes::ports`]): by time, node, port, queue. A run without port series has the
//!   digest of no rows.
//! - `counters` ([`Hashes::counters`]): the totals (those of balancers only if any is not zero),
//!   then the links.

use crate::times::completion;
use afflux_net::record::{
    BalanceCounters, Counters, FlowRecord, LinkRecord, Output, PortRecord, Split, Status,
};
use afflux_net::spec::Flow;
use afflux_scenario::Scenario;
use sha2::{Digest, Sha256};

/// SHA-256 digests in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hashes {
    pub result: String,
    pub ports: String,
    pub counters: String,
}

pub fn hashes(scenario: &Scenario, output: &Output) -> Hashes {
    Hashes { result: flows(scenario, output), ports: ports(output), counters: counters(output) }
}

fn flows(scenario: &Scenario, output: &Output) -> String {
    let plan = &scenario.plan;
    let mut out = Canonical::new("afflux flows 1");
    out.count(output.flows.len());
    for (flow, record) in output.all_flows(plan) {
        let Flow {
            id,
            src,
            dst,
            bytes,
            start: _,
            stop: _,
            deadline,
            class,
            job,
            transport: _,
            group: _,
            connection: _,
            priority: _,
        } = flow;
        out.u64(*id as u64);
        out.string(&scenario.classes[*class as usize]);
        out.option(
            (*job != Flow::NO_JOB).then(|| &scenario.jobs[*job as usize].name),
            |out, name| out.string(name),
        );
        out.u64((*src).into());
        out.u64((*dst).into());
        out.u64(*bytes);
        out.option(deadline.map(|span| span.0), Canonical::u64);
        flow_record(&mut out, record);
        let split =
            if plan.record.explain { completion(record).map(|_| record.split) } else { None };
        out.option(split, |out, split| {
            let Split { recovery, reordering, paused, queueing, pacing, window, application, host } = split;
            out.u64s([record.propagation.0, recovery, reordering, paused, queueing, pacing, window, application]);
            if host > 0 {
                out.u64(host);
            }
        });
    }
    out.finish()
}

// Records are destructured without `..`, so that a new field must be added to the digest or
// excluded explicitly.

fn flow_record(out: &mut Canonical, record: &FlowRecord) {
    let FlowRecord {
        start,
        finish,
        given_up: _,
        status,
        ideal,
        propagation: _,
        split: _,
        packets_sent,
        packets_retransmitted,
        timeouts,
        ecn_marked,
        packets_reordered,
        bytes_received,
        last_received: _,
    } = *record;
    out.option(start.map(|time| time.0), Canonical::u64);
    out.option(finish.map(|time| time.0), Canonical::u64);
    out.u64(match status {
        Status::Finished => 0,
        Status::Running => 1,
        Status::Terminated => 2,
    });
    out.u64s([
        ideal.0,
        packets_sent,
        packets_retransmitted,
        timeouts,
        ecn_marked,
        packets_reordered,
        bytes_received,
    ]);
}

fn ports(output: &Output) -> String {
    let mut out = Canonical::new("afflux ports 1");
    out.count(output.ports.len());
    for record in &output.ports {
        let PortRecord {
            time,
            node,
            port,
            queue,
            queue_bytes,
            queue_bytes_max,
            tx_bytes,
            rx_bytes,
            drops,
            in_discards,
            ecn_marks,
            cnps,
            pause_frames_tx,
            pause_frames_rx,
            paused,
            latency_max,
        } = *record;
        out.u64s([time.0, node.into(), port.into(), i64::from(queue) as u64]);
        out.u64s([
            queue_bytes,
            queue_bytes_max,
            tx_bytes,
            rx_bytes,
            drops,
            in_discards,
            ecn_marks,
            pause_frames_tx,
            pause_frames_rx,
        ]);
        out.u64s([paused, latency_max]);
        if cnps > 0 {
            out.u64(cnps);
        }
    }
    out.finish()
}

fn counters(output: &Output) -> String {
    let mut out = Canonical::new("afflux counters 1");
    let Counters { balance, .. } = output.counters;
    // Counters added in later versions are included only if they are not zero.
    let counted = |(name, count): &(&str, u64)| !["drops_mtu", "cnps"].contains(name) || *count > 0;
    output.counters.list().into_iter().filter(counted).for_each(|(_, count)| out.u64(count));
    if balance != BalanceCounters::default() {
        out.u64s(balance.list().map(|(_, count)| count));
        out.u64s(balance.conweave.list().map(|(_, count)| count));
        out.u64s(balance.late.list().map(|(_, count)| count));
    }
    out.count(output.links.len());
    for &LinkRecord { frames, bytes, busy } in &output.links {
        out.u64s([frames, bytes, busy]);
    }
    out.finish()
}

/// Encoder of the canonical form, which feeds the digest.
struct Canonical {
    digest: Sha256,
    buffer: Vec<u8>,
}

impl Canonical {
    const BUFFER: usize = 1 << 16;

    fn new(name: &str) -> Self {
        let mut out = Self { digest: Sha256::new(), buffer: Vec::with_capacity(Self::BUFFER) };
        out.string(name);
        out
    }

    fn bytes(&mut self, bytes: &[u8]) {
        if self.buffer.len() + bytes.len() > Self::BUFFER {
            self.digest.update(&self.buffer);
            self.buffer.clear();
        }
        self.buffer.extend_from_slice(bytes);
    }

    fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    fn u64s<const N: usize>(&mut self, values: [u64; N]) {
        values.into_iter().for_each(|value| self.u64(value));
    }

    fn count(&mut self, rows: usize) {
        self.u64(rows as u64);
    }

    fn string(&mut self, text: &str) {
        self.count(text.len());
        self.bytes(text.as_bytes());
    }

    fn option<T>(&mut self, value: Option<T>, some: impl FnOnce(&mut Self, T)) {
        self.bytes(&[u8::from(value.is_some())]);
        if let Some(value) = value {
            some(self, value);
        }
    }

    fn finish(mut self) -> String {
        self.digest.update(&self.buffer);
        crate::durable::hex(self.digest.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run;
    use afflux_units::{Span, Time};

    #[test]
    fn the_encoding_stays_the_same() {
        // A change of these bytes requires a new version: raise the numbers in the names.
        let mut out = Canonical::new("n");
        out.u64(258);
        out.option(None, Canonical::u64);
        out.option(Some("é"), Canonical::string);
        assert_eq!(
            out.buffer,
            [
                1, 0, 0, 0, 0, 0, 0, 0, b'n', 2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0,
                0xc3, 0xa9
            ]
        );
        let mut out = Canonical::new("");
        out.buffer.clear();
        out.bytes(b"abc");
        assert_eq!(
            out.finish(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn depends_on_the_result_and_on_nothing_else() {
        let (scenario, output) = run();
        let before = hashes(&scenario, &output);
        let (mut other, mut later) = (scenario.clone(), output.clone());
        other.plan.run.threads = 7;
        other.plan.run.engine = afflux_net::spec::EngineKind::Classical;
        other.notes.push("note".into());
        later.engine = afflux_net::record::Engine {
            events: 9,
            thread_cpu_s: vec![1.0; 7],
            wall_s: 3.0,
            window_ps: 5,
            windows: 8,
        };
        assert_eq!(hashes(&other, &later), before);

        let mut moved = output.clone();
        moved.flows[0].finish = moved.flows[0].finish.map(|time| Time(time.0 + 1));
        let after = hashes(&scenario, &moved);
        assert!(
            after.result != before.result
                && after.ports == before.ports
                && after.counters == before.counters
        );
        let mut moved = output.clone();
        moved.ports[0].queue = -1 - moved.ports[0].queue;
        let after = hashes(&scenario, &moved);
        assert!(
            after.result == before.result
                && after.ports != before.ports
                && after.counters == before.counters
        );
        let mut moved = output.clone();
        moved.links[1].busy += 1;
        let after = hashes(&scenario, &moved);
        assert!(
            after.result == before.result
                && after.ports == before.ports
                && after.counters != before.counters
        );
        let mut renamed = scenario.clone();
        renamed.classes[0] = "other".into();
        renamed.plan.flows[0].deadline = Some(Span(1));
        assert_ne!(hashes(&renamed, &output).result, before.result);
    }
}
