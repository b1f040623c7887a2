//! What a kernel leaves to the device: checksums, and cutting what it sends at once into segments. Hosts behind TUN devices may leave both, as they
//! may with their NICs: a read brings up to 64 KB, and nobody sums up what never meets a cable. Linux tells in a header before each packet
//! (`struct virtio_net_hdr`).

use crate::packet;

/// The bytes of that header.
pub const HEADER: usize = 10;
/// The longest packet there is, of IPv4.
const LONGEST: usize = u16::MAX as usize;
/// Bits of its first byte and kinds of its second (linux/virtio_net.h): the checksum is not there yet; nothing is to be cut; TCP over IPv4 is; with CWR,
/// which only the first segment has (RFC 3168 §6.1.2).
const NEEDS_SUM: u8 = 1;
const WHOLE: u8 = 0;
const TCP_OVER_IPV4: u8 = 1;
const WITH_CWR: u8 = 0x80;

/// Where the checksum of a packet has yet to be put: its sum begins at `start`, and it stands so many bytes behind that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsummed {
    pub start: u16,
    pub offset: u16,
}

/// What stands before a packet that a host receives.
pub fn header_of(unsummed: Option<Unsummed>) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    if let Some(Unsummed { start, offset }) = unsummed {
        header[0] = NEEDS_SUM;
        header[6..8].copy_from_slice(&start.to_ne_bytes());
        header[8..].copy_from_slice(&offset.to_ne_bytes());
    }
    header
}

/// What a host has handed to its device at once: a packet, or TCP segments in one.
#[derive(Debug)]
pub struct Handed {
    buffer: Box<[u8]>,
    /// Of the packet.
    length: usize,
    unsummed: Option<Unsummed>,
    /// Of segments: the length of their headers, and the payload of each but the last.
    cut: Option<(usize, usize)>,
}

/// It cannot be cut as its header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken;

impl Handed {
    pub fn nothing() -> Self {
        Handed { buffer: vec![0; HEADER + LONGEST].into(), length: 0, unsummed: None, cut: None }
    }

    /// Where Linux's header and a packet are to be put; [`Self::came`] says that they have been.
    pub fn buffer(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    /// So many bytes have been put there.
    pub fn came(&mut self, bytes: usize) -> Result<(), Broken> {
        (self.length, self.unsummed, self.cut) = (bytes.checked_sub(HEADER).ok_or(Broken)?, None, None);
        let word = |at: usize| u16::from_ne_bytes([self.buffer[at], self.buffer[at + 1]]);
        let (flags, kind, size) = (self.buffer[0], self.buffer[1], usize::from(word(4)));
        if flags & NEEDS_SUM != 0 {
            self.unsummed = Some(Unsummed { start: word(6), offset: word(8) });
        }
        if kind == WHOLE {
            return Ok(());
        }
        let headers = packet::tcp_headers(self.packet()).filter(|_| kind & !WITH_CWR == TCP_OVER_IPV4 && size > 0 && self.unsummed.is_some());
        self.cut = Some((headers.ok_or(Broken)?, size));
        Ok(())
    }

    /// Where a packet that is whole and has its checksum is to be put; [`Self::came_whole`] says that it has been.
    pub fn buffer_of_whole(&mut self) -> &mut [u8] {
        &mut self.buffer[HEADER..]
    }

    pub fn came_whole(&mut self, length: usize) {
        (self.length, self.unsummed, self.cut) = (length, None, None);
    }

    /// As it was handed over.
    pub fn packet(&self) -> &[u8] {
        &self.buffer[HEADER..HEADER + self.length]
    }

    pub fn unsummed(&self) -> Option<Unsummed> {
        self.unsummed
    }

    /// How many packets this is on a cable.
    pub fn segments(&self) -> usize {
        self.cut.map_or(1, |(headers, size)| (self.length - headers).div_ceil(size).max(1))
    }

    /// The longest of them.
    pub fn longest(&self) -> usize {
        self.cut.map_or(self.length, |(headers, size)| self.length.min(headers + size))
    }

    /// Writes the packet of this number into `buffer`, which is long enough; returns its length.
    pub fn segment(&self, index: usize, buffer: &mut [u8]) -> usize {
        let whole = self.packet();
        let Some((headers, size)) = self.cut else {
            buffer[..whole.len()].copy_from_slice(whole);
            return whole.len();
        };
        let from = headers + index * size;
        let payload = &whole[from.min(whole.len())..(from + size).min(whole.len())];
        let length = headers + payload.len();
        buffer[..headers].copy_from_slice(&whole[..headers]);
        buffer[headers..length].copy_from_slice(payload);
        packet::become_segment(&mut buffer[..length], index, (index * size) as u32, from + size >= whole.len());
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10.0.0.1 to 10.0.1.2, so many bytes of payload, each of which tells its place; PSH, ACK, FIN and CWR; 12 bytes of options.
    fn sent(payload: usize) -> Vec<u8> {
        let mut packet = vec![0x45, 2, 0, 0, 0xff, 0xff, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 1, 2];
        packet.extend([0x12, 0x34, 0x56, 0x78, 0xff, 0xff, 0xff, 0xf0, 0, 0, 0, 9, 0x80, 0x99, 1, 0, 0, 0, 0, 0]);
        packet.extend([1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 7]);
        packet.extend((0..payload).map(|place| place as u8));
        let length = packet.len() as u16;
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        packet
    }

    fn handed(packet: &[u8], kind: u8, size: u16) -> (Handed, Result<(), Broken>) {
        let mut handed = Handed::nothing();
        let mut header = header_of(Some(Unsummed { start: 20, offset: 16 }));
        header[1] = kind;
        header[4..6].copy_from_slice(&size.to_ne_bytes());
        handed.buffer()[..HEADER].copy_from_slice(&header);
        handed.buffer()[HEADER..HEADER + packet.len()].copy_from_slice(packet);
        let came = handed.came(HEADER + packet.len());
        (handed, came)
    }

    #[test]
    fn a_long_packet_is_cut_as_a_device_would() {
        let packet = sent(250);
        let (handed, came) = handed(&packet, TCP_OVER_IPV4 | WITH_CWR, 100);
        assert_eq!((came, handed.segments(), handed.longest()), (Ok(()), 3, 152));
        let mut payload = Vec::new();
        for index in 0..3 {
            let mut buffer = [0xee; 200];
            let length = handed.segment(index, &mut buffer);
            let segment = &buffer[..length];
            assert_eq!(length, [152, 152, 102][index]);
            assert_eq!(usize::from(u16::from_be_bytes([segment[2], segment[3]])), length);
            // Identifications and sequence numbers go on, over zero too.
            assert_eq!(u16::from_be_bytes([segment[4], segment[5]]), 0xffffu16.wrapping_add(index as u16));
            assert_eq!(u32::from_be_bytes(segment[24..28].try_into().unwrap()), 0xffff_fff0u32.wrapping_add(100 * index as u32));
            // CWR with the first, FIN and PSH with the last.
            assert_eq!(segment[33], [0x90, 0x10, 0x19][index]);
            assert_eq!(segment[40..52], packet[40..52], "options");
            payload.extend_from_slice(&segment[52..]);
            // The header's sum is right, and TCP's right once it is completed.
            assert_eq!(packet::tests::summed(&segment[..20]), 0xffff);
            packet::complete(&mut buffer[..length]);
            assert_eq!(packet::tests::summed(&packet::tests::covered(&buffer[..length])), 0xffff);
        }
        assert_eq!(payload, packet[52..]);
    }

    #[test]
    fn the_sum_that_is_left_covers_what_linux_wants() {
        // Where a sum is left, the field holds that of addresses, protocol and length: what completes it sums from `start` to the end.
        let (handed, _) = handed(&sent(250), TCP_OVER_IPV4, 100);
        let mut buffer = [0; 200];
        let length = handed.segment(1, &mut buffer);
        let sum = !packet::tests::summed(&buffer[20..length]);
        buffer[36..38].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(packet::tests::summed(&packet::tests::covered(&buffer[..length])), 0xffff);
    }

    #[test]
    fn what_is_whole_stays_as_it_is() {
        let packet = sent(250);
        let (handed, came) = handed(&packet, WHOLE, 0);
        let mut buffer = [0; 400];
        assert_eq!((came, handed.segments(), handed.longest(), handed.segment(0, &mut buffer)), (Ok(()), 1, 302, 302));
        assert_eq!(buffer[..302], packet);
        assert_eq!(handed.unsummed(), Some(Unsummed { start: 20, offset: 16 }));
        assert_eq!(header_of(None), [0; HEADER]);
    }

    #[test]
    fn what_cannot_be_cut_is_refused() {
        let packet = sent(250);
        assert_eq!(handed(&packet, TCP_OVER_IPV4, 0).1, Err(Broken), "segments of nothing");
        assert_eq!(handed(&packet, 3, 100).1, Err(Broken), "UDP's");
        assert_eq!(handed(&packet[..51], TCP_OVER_IPV4, 100).1, Err(Broken), "no room for its header");
        let mut fragment = packet.clone();
        fragment[7] = 1;
        assert_eq!(handed(&fragment, TCP_OVER_IPV4, 100).1, Err(Broken), "a fragment");
        assert_eq!(Handed::nothing().came(9), Err(Broken));
    }
}
