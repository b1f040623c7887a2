//! Checksum and segmentation offload. Hosts behind TUN devices may leave checksums and TCP
//! segmentation to the device, as they do with NICs: one read returns up to 64 KB, and packets that
//! never reach a cable need no checksum. Linux describes the outstanding work in a header before
//! each packet (`struct virtio_net_hdr`).

use crate::packet;

/// Length in bytes of `struct virtio_net_hdr`.
pub const HEADER: usize = 10;
/// Length in bytes of the longest IPv4 packet.
const LONGEST: usize = u16::MAX as usize;
/// Flags and segmentation types of the header's first two bytes (linux/virtio_net.h): checksum
/// missing; no segmentation; TCP over IPv4; flag for CWR, which only the first segment carries (RFC
/// 3168 §6.1.2).
const NEEDS_SUM: u8 = 1;
const WHOLE: u8 = 0;
const TCP_OVER_IPV4: u8 = 1;
const WITH_CWR: u8 = 0x80;

/// Position of a missing checksum: the sum starts at byte `start`, and its field is `offset` bytes
/// behind `start`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsummed {
    pub start: u16,
    pub offset: u16,
}

/// Returns the header that precedes a packet delivered to a host.
pub fn header_of(unsummed: Option<Unsummed>) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    if let Some(Unsummed { start, offset }) = unsummed {
        header[0] = NEEDS_SUM;
        header[6..8].copy_from_slice(&start.to_ne_bytes());
        header[8..].copy_from_slice(&offset.to_ne_bytes());
    }
    header
}

/// Data that a host hands to its device at once: one packet, or several TCP segments in one large
/// packet.
#[derive(Debug)]
pub struct Handed {
    buffer: Box<[u8]>,
    /// Length of the packet in bytes.
    length: usize,
    unsummed: Option<Unsummed>,
    /// For several segments: the length of their headers, and the payload of each segment but the
    /// last, in bytes.
    cut: Option<(usize, usize)>,
}

/// Error: the packet cannot be segmented as its header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken;

impl Handed {
    pub fn nothing() -> Self {
        Handed { buffer: vec![0; HEADER + LONGEST].into(), length: 0, unsummed: None, cut: None }
    }

    /// Returns the buffer for Linux's header and a packet. Call [`Self::came`] after filling it.
    pub fn buffer(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    /// Parses the first `bytes` bytes of the buffer, which hold Linux's header and a packet.
    pub fn came(&mut self, bytes: usize) -> Result<(), Broken> {
        (self.length, self.unsummed, self.cut) =
            (bytes.checked_sub(HEADER).ok_or(Broken)?, None, None);
        let word = |at: usize| u16::from_ne_bytes([self.buffer[at], self.buffer[at + 1]]);
        let (flags, kind, size) = (self.buffer[0], self.buffer[1], usize::from(word(4)));
        if flags & NEEDS_SUM != 0 {
            self.unsummed = Some(Unsummed { start: word(6), offset: word(8) });
        }
        if kind == WHOLE {
            return Ok(());
        }
        let headers = packet::tcp_headers(self.packet())
            .filter(|_| kind & !WITH_CWR == TCP_OVER_IPV4 && size > 0 && self.unsummed.is_some());
        self.cut = Some((headers.ok_or(Broken)?, size));
        Ok(())
    }

    /// Returns the buffer for a packet without Linux's header. Call [`Self::came_whole`] after
    /// filling it.
    pub fn buffer_of_whole(&mut self) -> &mut [u8] {
        &mut self.buffer[HEADER..]
    }

    pub fn came_whole(&mut self, length: usize) {
        (self.length, self.unsummed, self.cut) = (length, None, None);
    }

    /// Returns the packet as the host handed it over, before segmentation.
    pub fn packet(&self) -> &[u8] {
        &self.buffer[HEADER..HEADER + self.length]
    }

    pub fn unsummed(&self) -> Option<Unsummed> {
        self.unsummed
    }

    /// Returns the number of packets after segmentation.
    pub fn segments(&self) -> usize {
        self.cut.map_or(1, |(headers, size)| (self.length - headers).div_ceil(size).max(1))
    }

    /// Returns the length in bytes of the longest packet after segmentation.
    pub fn longest(&self) -> usize {
        self.cut.map_or(self.length, |(headers, size)| self.length.min(headers + size))
    }

    /// Writes packet number `index` into `buffer`, which must be long enough, and returns its length
    /// in bytes.
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
        packet::become_segment(
            &mut buffer[..length],
            index,
            (index * size) as u32,
            from + size >= whole.len(),
        );
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a TCP packet from 10.0.0.1 to 10.0.1.2 with `payload` bytes, each of which holds its
    /// position. Flags: PSH, ACK, FIN and CWR; 12 bytes of options.
    fn sent(payload: usize) -> Vec<u8> {
        let mut packet =
            vec![0x45, 2, 0, 0, 0xff, 0xff, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 1, 2];
        packet.extend([
            0x12, 0x34, 0x56, 0x78, 0xff, 0xff, 0xff, 0xf0, 0, 0, 0, 9, 0x80, 0x99, 1, 0, 0, 0, 0,
            0,
        ]);
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
            // Identifications and sequence numbers continue from segment to segment, also across
            // the wrap to zero.
            assert_eq!(
                u16::from_be_bytes([segment[4], segment[5]]),
                0xffffu16.wrapping_add(index as u16)
            );
            assert_eq!(
                u32::from_be_bytes(segment[24..28].try_into().unwrap()),
                0xffff_fff0u32.wrapping_add(100 * index as u32)
            );
            // CWR is set in the first segment only, FIN and PSH in the last.
            assert_eq!(segment[33], [0x90, 0x10, 0x19][index]);
            assert_eq!(segment[40..52], packet[40..52], "options");
            payload.extend_from_slice(&segment[52..]);
            // The header checksum is correct. The TCP checksum is correct after `complete`.
            assert_eq!(packet::tests::summed(&segment[..20]), 0xffff);
            packet::complete(&mut buffer[..length]);
            assert_eq!(packet::tests::summed(&packet::tests::covered(&buffer[..length])), 0xffff);
        }
        assert_eq!(payload, packet[52..]);
    }

    #[test]
    fn the_sum_that_is_left_covers_what_linux_wants() {
        // The field of a missing checksum holds the sum over addresses, protocol and length. The
        // device sums from `start` to the end.
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
        assert_eq!(
            (came, handed.segments(), handed.longest(), handed.segment(0, &mut buffer)),
            (Ok(()), 1, 302, 302)
        );
        assert_eq!(buffer[..302], packet);
        assert_eq!(handed.unsummed(), Some(Unsummed { start: 20, offset: 16 }));
        assert_eq!(header_of(None), [0; HEADER]);
    }

    #[test]
    fn what_cannot_be_cut_is_refused() {
        let packet = sent(250);
        assert_eq!(handed(&packet, TCP_OVER_IPV4, 0).1, Err(Broken), "segments of nothing");
        assert_eq!(handed(&packet, 3, 100).1, Err(Broken), "UDP's");
        assert_eq!(
            handed(&packet[..51], TCP_OVER_IPV4, 100).1,
            Err(Broken),
            "no room for its header"
        );
        let mut fragment = packet.clone();
        fragment[7] = 1;
        assert_eq!(handed(&fragment, TCP_OVER_IPV4, 100).1, Err(Broken), "a fragment");
        assert_eq!(Handed::nothing().came(9), Err(Broken));
    }
}
