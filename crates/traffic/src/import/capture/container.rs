//! Reads the frames of capture files: pcap (draft-ietf-opsawg-pcap) and pcapng
//! (draft-ietf-opsawg-pcapng), in either byte order, with one frame in memory at a time.

use super::notes::{Note, Tally};
use std::io::{BufRead, Read};

/// A captured frame.
pub struct Frame<'a> {
    /// Time in ns since 1970.
    pub time_ns: u64,
    /// Type of the frame's first header (`LINKTYPE_…`).
    pub link_type: u16,
    /// Captured bytes from the frame's beginning.
    pub captured: &'a [u8],
    /// Length of the frame on the wire in bytes.
    pub length: u32,
    /// Number of the frame in the file, from 1.
    pub number: u64,
    /// Number of the frame's interface in its section.
    pub interface: u32,
}

/// An error in a capture file.
pub enum Wrong {
    Io(std::io::Error),
    /// An error of the format: the text that was found, and the one that was expected.
    Format(String, String),
}

impl From<std::io::Error> for Wrong {
    fn from(error: std::io::Error) -> Self {
        Wrong::Io(error)
    }
}

/// Largest length of a frame or block in bytes. A longer one is taken for an error in the file
/// (libpcap's limit is 256 KiB).
const LONGEST: u32 = 16 << 20;
const NANOSECONDS: u64 = 1_000_000_000;
const SECTION_HEADER: u32 = 0x0a0d_0d0a;

/// Reader of the frames of one file.
pub struct Frames<R> {
    reader: R,
    buffer: Vec<u8>,
    form: Form,
    /// Number of bytes read so far.
    at: u64,
    /// Number of frames read so far.
    pub count: u64,
    /// Whether the file ends within a frame, because the capturing program was stopped.
    pub cut: bool,
    /// Notes on blocks that are left out: simple packet blocks, and blocks without frames.
    pub tally: Tally,
}

enum Form {
    Pcap { little: bool, nanoseconds: bool, link_type: u16 },
    Pcapng { little: bool, interfaces: Vec<Interface> },
}

struct Interface {
    link_type: u16,
    /// Units of the interface's time stamps per second.
    per_second: u64,
    /// Offset in seconds that is added to time stamps.
    offset_s: i64,
}

fn u16_of(bytes: &[u8], little: bool) -> u16 {
    let two = [bytes[0], bytes[1]];
    if little { u16::from_le_bytes(two) } else { u16::from_be_bytes(two) }
}

fn u32_of(bytes: &[u8], little: bool) -> u32 {
    let four = [bytes[0], bytes[1], bytes[2], bytes[3]];
    if little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) }
}

impl<R: BufRead> Frames<R> {
    pub fn open(reader: R) -> Result<Self, Wrong> {
        let form = Form::Pcapng { little: true, interfaces: Vec::new() };
        let mut frames = Frames {
            reader,
            buffer: Vec::new(),
            form,
            at: 0,
            count: 0,
            cut: false,
            tally: Tally::default(),
        };
        if !frames.fill(4)? {
            return Err(Wrong::Format(
                "a file without a header".into(),
                "a capture: pcap or pcapng".into(),
            ));
        }
        let magic = u32_of(&frames.buffer, true);
        match magic {
            SECTION_HEADER => frames.section()?,
            0xa1b2_c3d4 | 0xd4c3_b2a1 | 0xa1b2_3c4d | 0x4d3c_b2a1 => frames.pcap_header(magic)?,
            0xa1b2_cd34 | 0x34cd_b2a1 => {
                return Err(Wrong::Format(
                    "a pcap file of the patched form of old Linux kernels".into(),
                    "pcap or pcapng; `editcap` converts it".into(),
                ));
            }
            _ => {
                return Err(Wrong::Format(
                    format!("the bytes {:02x?} at the beginning", &frames.buffer[..4]),
                    "a capture: pcap or pcapng".into(),
                ));
            }
        }
        Ok(frames)
    }

    /// Returns the next frame, or `None` at the end.
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, Wrong> {
        match self.form {
            Form::Pcap { little, nanoseconds, link_type } => {
                self.record(little, nanoseconds, link_type)
            }
            Form::Pcapng { .. } => self.block(),
        }
    }

    /// Reads `count` bytes into the buffer. Returns `false` if the file ends before.
    fn fill(&mut self, count: usize) -> Result<bool, Wrong> {
        self.buffer.clear();
        let read = (&mut self.reader).take(count as u64).read_to_end(&mut self.buffer)?;
        self.at += read as u64;
        self.cut |= read > 0 && read < count;
        Ok(read == count)
    }

    fn wrong<T>(&self, found: String, expected: &str) -> Result<T, Wrong> {
        Err(Wrong::Format(
            format!("{found} before byte {}, after {} frames", self.at, self.count),
            expected.to_string(),
        ))
    }

    // ---------------------------------------------------------------------------------------------------------------------- pcap

    fn pcap_header(&mut self, magic: u32) -> Result<(), Wrong> {
        let little = matches!(magic, 0xa1b2_c3d4 | 0xa1b2_3c4d);
        let nanoseconds = matches!(magic, 0xa1b2_3c4d | 0x4d3c_b2a1);
        if !self.fill(20)? {
            return self.wrong("the end of the file".into(), "the 24 bytes of a pcap header");
        }
        // The upper bits state the length of the frames' check sequences.
        let link_type = (u32_of(&self.buffer[16..], little) & 0xffff) as u16;
        self.form = Form::Pcap { little, nanoseconds, link_type };
        Ok(())
    }

    fn record(
        &mut self,
        little: bool,
        nanoseconds: bool,
        link_type: u16,
    ) -> Result<Option<Frame<'_>>, Wrong> {
        if !self.fill(16)? {
            return Ok(None);
        }
        let word = |index: usize| u32_of(&self.buffer[4 * index..], little);
        let (seconds, part, captured, length) = (word(0), word(1), word(2), word(3));
        if captured > LONGEST {
            return self.wrong(
                format!("a frame of {captured} captured bytes"),
                &format!("at most {LONGEST}"),
            );
        }
        if !self.fill(captured as usize)? {
            self.cut = true;
            return Ok(None);
        }
        self.count += 1;
        let time_ns = u64::from(seconds) * NANOSECONDS
            + u64::from(part) * if nanoseconds { 1 } else { 1_000 };
        Ok(Some(Frame {
            time_ns,
            link_type,
            captured: &self.buffer,
            length: length.max(captured),
            number: self.count,
            interface: 0,
        }))
    }

    // -------------------------------------------------------------------------------------------------------------------- pcapng

    /// Reads a section header whose type has been read. Sections may differ in byte order, and
    /// begin without interfaces.
    fn section(&mut self) -> Result<(), Wrong> {
        if !self.fill(8)? {
            return self.wrong("the end of the file".into(), "a section header");
        }
        let little = match u32_of(&self.buffer[4..], true) {
            0x1a2b_3c4d => true,
            0x4d3c_2b1a => false,
            other => {
                return self.wrong(
                    format!("the byte-order magic {other:08x}"),
                    "1a2b3c4d in either order",
                );
            }
        };
        let length = u32_of(&self.buffer, little);
        if !(28..=LONGEST).contains(&length) || !length.is_multiple_of(4) {
            return self.wrong(
                format!("a section header of {length} bytes"),
                "28 or more, a multiple of 4",
            );
        }
        self.fill(length as usize - 12)?;
        self.form = Form::Pcapng { little, interfaces: Vec::new() };
        Ok(())
    }

    fn block(&mut self) -> Result<Option<Frame<'_>>, Wrong> {
        loop {
            if !self.fill(4)? {
                return Ok(None);
            }
            // The type of a section header is the same number in either byte order.
            if u32_of(&self.buffer, true) == SECTION_HEADER {
                self.section()?;
                continue;
            }
            let Form::Pcapng { little, .. } = self.form else { return Ok(None) };
            let kind = u32_of(&self.buffer, little);
            if !self.fill(4)? {
                self.cut = true;
                return Ok(None);
            }
            let length = u32_of(&self.buffer, little);
            if !(12..=LONGEST).contains(&length) || !length.is_multiple_of(4) {
                return self
                    .wrong(format!("a block of {length} bytes"), "12 or more, a multiple of 4");
            }
            if !self.fill(length as usize - 8)? {
                self.cut = true;
                return Ok(None);
            }
            let body = length as usize - 12;
            match kind {
                1 => self.interface(little, body)?,
                // The obsolete packet block (2) has the interface in 16 bits. All other fields are
                // where the enhanced packet block (6) has them.
                2 | 6 => {
                    if body < 20 {
                        return self
                            .wrong(format!("a packet block of {length} bytes"), "32 or more");
                    }
                    let number = if kind == 6 {
                        u32_of(&self.buffer, little)
                    } else {
                        u32::from(u16_of(&self.buffer, little))
                    };
                    let stamp = u64::from(u32_of(&self.buffer[4..], little)) << 32
                        | u64::from(u32_of(&self.buffer[8..], little));
                    let (captured, wire) =
                        (u32_of(&self.buffer[12..], little), u32_of(&self.buffer[16..], little));
                    if captured as usize > body - 20 {
                        return self.wrong(
                            format!("{captured} captured bytes in a block of {length}"),
                            "no more than the block holds",
                        );
                    }
                    let Form::Pcapng { interfaces, .. } = &self.form else { return Ok(None) };
                    let Some(interface) = interfaces.get(number as usize) else {
                        return self.wrong(
                            format!("a frame of interface {number}"),
                            &format!(
                                "one of the {} that are described before it",
                                interfaces.len()
                            ),
                        );
                    };
                    let (time_ns, link_type) = (interface.time_ns(stamp), interface.link_type);
                    self.count += 1;
                    let captured_bytes = &self.buffer[20..20 + captured as usize];
                    let length = wire.max(captured);
                    return Ok(Some(Frame {
                        time_ns,
                        link_type,
                        captured: captured_bytes,
                        length,
                        number: self.count,
                        interface: number,
                    }));
                }
                3 => {
                    self.count += 1;
                    self.tally.note_at(Note::Timeless, self.count);
                }
                _ => self.tally.note_at(Note::Block(kind), 0),
            }
        }
    }

    fn interface(&mut self, little: bool, body: usize) -> Result<(), Wrong> {
        if body < 8 {
            return self
                .wrong(format!("an interface description of {} bytes", body + 12), "20 or more");
        }
        let mut interface = Interface {
            link_type: u16_of(&self.buffer, little),
            per_second: 1_000_000,
            offset_s: 0,
        };
        let mut options = &self.buffer[8..body];
        while options.len() >= 4 {
            let (code, length) = (u16_of(options, little), u16_of(&options[2..], little) as usize);
            let Some(value) = options.get(4..4 + length) else { break };
            match (code, value) {
                (0, _) => break,
                // if_tsresol is a negative power of 10, or of 2 if the highest bit is set.
                (9, [resolution, ..]) => {
                    let power = u32::from(resolution & 0x7f);
                    let per_second = if resolution & 0x80 == 0 {
                        10u64.checked_pow(power)
                    } else {
                        2u64.checked_pow(power)
                    };
                    let Some(per_second) = per_second else {
                        return self.wrong(
                            format!("stamps of resolution {resolution:#04x}"),
                            "at most 10^-19 s or 2^-63 s",
                        );
                    };
                    interface.per_second = per_second;
                }
                // if_tsoffset is in seconds.
                (14, value) if length == 8 => {
                    let (first, second) =
                        (u64::from(u32_of(value, little)), u64::from(u32_of(&value[4..], little)));
                    interface.offset_s =
                        if little { second << 32 | first } else { first << 32 | second } as i64;
                }
                _ => {}
            }
            options = options.get(4 + length.next_multiple_of(4)..).unwrap_or(&[]);
        }
        if let Form::Pcapng { interfaces, .. } = &mut self.form {
            interfaces.push(interface);
        }
        Ok(())
    }
}

impl Interface {
    /// Returns the time in ns since 1970. Times outside 1970 to 2554 are moved to the nearest end
    /// of this range.
    fn time_ns(&self, stamp: u64) -> u64 {
        let ns = i128::from(stamp) * i128::from(NANOSECONDS) / i128::from(self.per_second)
            + i128::from(self.offset_s) * i128::from(NANOSECONDS);
        ns.clamp(0, i128::from(u64::MAX)) as u64
    }
}
