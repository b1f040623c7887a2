//! Captures of a kernel's packets (pcap with times in ns).

/// Bytes of each frame that are kept: headers of Ethernet, IPv4 and TCP with all options.
const KEPT: usize = 134;

#[derive(Debug)]
pub struct Pcap {
    written: Vec<u8>,
    /// Records that are not in order yet, with their times in ns.
    waiting: Vec<(u64, Vec<u8>)>,
}

impl Pcap {
    pub fn new() -> Pcap {
        const MAGIC_NS: u32 = 0xa1b2_3c4d;
        const VERSION: u32 = 0x0004_0002;
        const ETHERNET: u32 = 1;
        let written = words([MAGIC_NS, VERSION, 0, 0, KEPT as u32, ETHERNET]);
        Pcap { written, waiting: Vec::new() }
    }

    /// Adds a frame that was sent or received at `at` (ns).
    pub fn add(&mut self, at: u64, frame: &[u8]) {
        const SECOND: u64 = 1_000_000_000;
        let kept = &frame[..frame.len().min(KEPT)];
        let time = [(at / SECOND) as u32, (at % SECOND) as u32];
        let mut record = words([time[0], time[1], kept.len() as u32, frame.len() as u32]);
        record.extend_from_slice(kept);
        self.waiting.push((at, record));
    }

    /// Orders the frames that were added since the last call by time. No later frame may be earlier
    /// than one of these.
    pub fn sort(&mut self) {
        self.waiting.sort_by_key(|(at, _)| *at);
        self.written.extend(self.waiting.drain(..).flat_map(|(_, record)| record));
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.sort();
        self.written
    }
}

fn words<const N: usize>(words: [u32; N]) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_in_order_of_time() {
        let mut pcap = Pcap::new();
        for (at, byte) in [(2_000_000_005, 1), (7, 2), (9, 3), (7, 4)] {
            pcap.add(at, &[byte; 20]);
        }
        pcap.sort();
        pcap.add(2_000_000_006, &[5; 20]);
        let bytes = pcap.finish();
        let records = bytes[24..].chunks(16 + 20);
        let shown: Vec<_> = records.map(|record| (record[0], record[4], record[16])).collect();
        assert_eq!(shown, [(0, 7, 2), (0, 7, 4), (0, 9, 3), (2, 5, 1), (2, 6, 5)]);
    }
}
