//! Queues that cut data frames to headers instead of dropping them (NDP's queue, "composite queue"
//! in htsim).

use super::policy::{About, Policy, QueueTag, Site};
use crate::Model;
use crate::frame::Frame;
use crate::queue::waiting::Waiting;
use crate::queue::{Reason, Verdict};
use crate::spec::Limit;
use afflux_config::tree::Wrong;
use afflux_config::{Size, keys};
use afflux_engine::random::Stream;
use afflux_units::Bytes;
use std::collections::VecDeque;

keys! {
    /// Trimming of data frames (NDP). Each queue of a port consists of two. Data frames that find
    /// their queue full are cut to headers. Headers and answers have the other queue, which is
    /// served first. Use it instead of `buffer`, `ecn` and `aqm`.
    pub struct Keys as "Trimming" => TrimConfig(frame: u16) {
        /// Most bytes of data, including the frame in transmission.
        data: Size as u64 = (Size(Bytes(8 * u64::from(frame)))) "8 full frames, as in the paper", check |Size(Bytes(bytes)), at| match bytes {
            0 => Err(Wrong::at(at, "\"0B\": a queue of size 0 drops every frame: write a size above 0")),
            bytes => Ok(bytes),
        };
        /// Most bytes of headers and answers. Frames that do not fit are dropped.
        headers: Size as u64 = (Size(Bytes(data.saturating_mul(2)))) "twice `data`, as in htsim; the paper has as much as for data",
            check |Size(Bytes(bytes)), _| Ok(bytes);
        /// Size of a header. Smaller headers are padded to the smallest frame of `host.wire`.
        header: Size as u16 = "64B" from "htsim; 206 B on some switches with SONiC", check |size, at| match size {
            Size(Bytes(bytes @ 1..=1_000)) if bytes > headers => Err(Wrong::at(at, format!("\"{}\" is above headers = \"{}\", so no header fits in", Bytes(bytes), Bytes(headers)))),
            Size(Bytes(bytes @ 1..=1_000)) => Ok(bytes as u16),
            Size(bytes) => Err(Wrong::at(at, format!("\"{bytes}\": write a size from 1B to 1000B"))),
        };
    }
}

/// Trimming discipline. Data frames wait in the port's queue, headers and answers wait in
/// `headers`.
pub struct Trim {
    config: TrimConfig,
    headers: VecDeque<Waiting>,
    /// Bytes of headers and of data, including the frame in transmission.
    bytes: [u64; 2],
    /// Queue (0: headers, 1: data) and bytes of the frame in transmission.
    leaving: (usize, u64),
}

impl Policy for Trim {
    type Config = TrimConfig;
    fn new(config: &TrimConfig, site: Site, _: &mut Stream) -> Self {
        // A header is a frame too, so it has at least the smallest frame size.
        let config = TrimConfig { header: config.header.max(site.least), ..config.clone() };
        Trim { config, headers: VecDeque::new(), bytes: [0; 2], leaving: (0, 0) }
    }

    fn about(config: &TrimConfig) -> About {
        let text = "no data can be cut to headers, so full queues drop them: write kind = \"ndp\" in [host.transport], or remove it";
        About {
            requires_tag: Some((QueueTag::Trimmable, "trimming", text)),
            limit: Some(Limit::Bytes(config.data)),
            unpausable: true,
            ..About::of(MODEL)
        }
    }

    fn head<'f>(&'f self, data: &'f VecDeque<Waiting>) -> Option<&'f Waiting> {
        self.headers.front().or(data.front())
    }

    fn push(
        &mut self,
        data: &mut VecDeque<Waiting>,
        waiting: Waiting,
        stream: &mut Stream,
    ) -> Vec<(Frame, Verdict)> {
        let (frame, size) = (waiting.frame, u64::from(waiting.frame.size));
        if !is_data(&frame) {
            if self.bytes[0] + size > self.config.headers {
                return vec![(frame, Verdict::Drop(Reason::Buffer))];
            }
            self.bytes[0] += size;
            self.headers.push_back(waiting);
            return Vec::new();
        }
        self.bytes[1] += size;
        data.push_back(waiting);
        if self.bytes[1] <= self.config.data {
            return Vec::new();
        }
        // The victim is the arriving frame or the newest waiting one, each with probability 1/2.
        let place = data.len() - if data.len() > 1 && stream.next_u64() & 1 == 0 { 2 } else { 1 };
        let victim = data.remove(place).expect("just counted").frame;
        self.bytes[1] -= u64::from(victim.size);
        vec![(
            victim,
            if is_trimmable(&victim) {
                Verdict::Trim(victim.size.min(self.config.header))
            } else {
                Verdict::Drop(Reason::Buffer)
            },
        )]
    }

    /// Returns the next header or, if there is none, the next data frame. The caller calls this
    /// after the previous transmission has ended, so the bytes of that frame are released here.
    fn pull(&mut self, data: &mut VecDeque<Waiting>, _: u64, _: u64) -> Option<(Waiting, Verdict)> {
        let (which, bytes) = std::mem::take(&mut self.leaving);
        self.bytes[which] -= bytes;
        let next = self
            .headers
            .pop_front()
            .map(|waiting| (0, waiting))
            .or_else(|| data.pop_front().map(|waiting| (1, waiting)));
        let (which, waiting) = next?;
        self.leaving = (which, u64::from(waiting.frame.size));
        Some((waiting, Verdict::Admit))
    }

    fn held(&self) -> Box<dyn Iterator<Item = &Waiting> + '_> {
        Box::new(self.headers.iter())
    }
}

/// True if the frame belongs to the queue of data.
#[inline(always)]
pub fn is_data(frame: &Frame) -> bool {
    frame.is_data() && !(frame.kind() == Frame::DATAGRAM && frame.has(Frame::TRIMMED))
}

/// True if the data frame can be cut to a header.
pub fn is_trimmable(frame: &Frame) -> bool {
    frame.kind() == Frame::DATAGRAM && frame.has(Frame::TRIMMABLE)
}

pub const MODEL: Model = Model {
    kind: "scheduling",
    name: "trimming",
    source: "Handley et al., SIGCOMM 2017; htsim (compositequeue.cpp)",
    faithful: "if the queue is full when a data frame arrives, one frame loses its payload: the arriving frame or the newest waiting one, with equal \
               probability; headers, acknowledgements, negative acknowledgements and pulls have a queue of their own, which is served first and drops \
               frames when it is full; the frame in transmission counts",
    simplified: "headers have strict priority (htsim: 100,000 : 1, the paper: 10 : 1); only NDP's data are trimmed, other data are dropped; headers that \
                 do not fit are not returned to their senders; no marks",
};

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(seq: u32, flags: u16, size: u16) -> Waiting {
        Waiting { frame: Frame { seq, size, flags, ..Frame::default() }, ready: 0, clock: 0 }
    }

    #[test]
    fn full_queues_trim_and_headers_go_first() {
        const DATA: u16 = Frame::DATAGRAM | Frame::TRIMMABLE;
        let mut queue = Trim::new(
            &TrimConfig { data: 3_000, headers: 128, header: 40 },
            Site { least: 64, ..Site::default() },
            &mut Stream::new(1, 2, 3),
        );
        let (mut data, mut stream) = (VecDeque::new(), Stream::new(1, 2, 3));
        let mut victims = [0, 0];
        for seq in 0..3 {
            assert!(queue.push(&mut data, waiting(seq, DATA, 1_000), &mut stream).is_empty());
        }
        for seq in 3..43 {
            let (frame, verdict) = queue.push(&mut data, waiting(seq, DATA, 1_000), &mut stream)[0];
            assert_eq!((data.len(), verdict), (3, Verdict::Trim(64)));
            victims[(frame.seq == seq) as usize] += 1;
        }
        assert!(victims.iter().all(|count| *count > 10), "{victims:?}");
        for seq in 50..52 {
            assert!(
                queue
                    .push(&mut data, waiting(seq, DATA | Frame::TRIMMED, 64), &mut stream)
                    .is_empty()
            );
        }
        assert_eq!(
            queue.push(&mut data, waiting(52, Frame::ANSWER, 40), &mut stream)[0].1,
            Verdict::Drop(Reason::Buffer)
        );
        // Frames that cannot be trimmed are dropped.
        data.iter_mut().for_each(|waiting| waiting.frame.flags = Frame::DATA);
        assert_eq!(
            queue.push(&mut data, waiting(53, Frame::DATA, 1_000), &mut stream)[0].1,
            Verdict::Drop(Reason::Buffer)
        );
        let order: Vec<u16> =
            std::iter::from_fn(|| queue.pull(&mut data, 0, 0)).map(|(w, _)| w.frame.size).collect();
        assert_eq!((order, queue.bytes), (vec![64, 64, 1_000, 1_000, 1_000], [0, 0]));
    }
}
