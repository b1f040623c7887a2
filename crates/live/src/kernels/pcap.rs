//! Captures of a kernel's packets (pcap with times in ns).

/// Bytes of each frame that are kept: headers of Ethernet, IPv4 and TCP with all options.
const KEPT: usize = 134;

#[derive(Debug)]
pub struct Pcap(Vec<u8>);

impl Pcap {
    pub fn new() -> Pcap {
        const MAGIC_NS: u32 = 0xa1b2_3c4d;
        const VERSION: u32 = 0x0004_0002;
        const ETHERNET: u32 = 1;
        let mut pcap = Pcap(Vec::new());
        pcap.words([MAGIC_NS, VERSION, 0, 0, KEPT as u32, ETHERNET]);
        pcap
    }

    fn words<const N: usize>(&mut self, words: [u32; N]) {
        words.into_iter().for_each(|word| self.0.extend_from_slice(&word.to_le_bytes()));
    }

    /// Adds a frame that was sent or received at `at` (ns).
    pub fn add(&mut self, at: u64, frame: &[u8]) {
        const SECOND: u64 = 1_000_000_000;
        let kept = &frame[..frame.len().min(KEPT)];
        let time = [(at / SECOND) as u32, (at % SECOND) as u32];
        self.words([time[0], time[1], kept.len() as u32, frame.len() as u32]);
        self.0.extend_from_slice(kept);
    }

    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}
