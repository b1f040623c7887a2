//! Reads text files line by line, plain or compressed, and parses numbers without detours through
//! floating point.

use crate::{Place, TrafficError};
use afflux_units::Bytes;
use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Length limit of a line in bytes. A file that is not text would otherwise fill the memory.
const LONGEST_LINE_BYTES: u64 = 64 << 20;
/// Default limit on the unpacked size of a compressed file: the larger of `UNPACKED_BYTES` and
/// `UNPACKED_TIMES` times the packed size.
const UNPACKED_BYTES: u64 = 16 << 20;
const UNPACKED_TIMES: u64 = 32;
/// Environment variable that raises the limit, as in `AFFLUX_MAX_UNPACKED=4GB`.
pub const MAX_UNPACKED: &str = "AFFLUX_MAX_UNPACKED";
/// Memory limit of an xz decoder in KiB. xz itself writes dictionaries of up to 64 MiB.
const XZ_MEMORY_KIB: u32 = 128 << 10;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const XZ_MAGIC: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];

pub(crate) fn unreadable(file: &Path, error: &std::io::Error) -> TrafficError {
    TrafficError::Unreadable { file: file.to_path_buf(), reason: error.to_string() }
}

/// Returns the largest unpacked size in bytes of a compressed file of `packed` bytes. Small files
/// that grow without bounds are refused.
pub fn most_unpacked(packed: u64) -> u64 {
    most_of(packed, UNPACKED_BYTES)
}

/// Returns the largest unpacked size in bytes of a compressed file, if any file may grow to `least`
/// bytes.
pub fn most_of(packed: u64, least: u64) -> u64 {
    let asked = std::env::var(MAX_UNPACKED)
        .ok()
        .and_then(|text| text.parse::<Bytes>().ok())
        .map_or(0, |bytes| bytes.0);
    asked.max(least).max(packed.saturating_mul(UNPACKED_TIMES))
}

/// Returns the message of a file that exceeds the limit.
pub fn too_much_unpacked(most: u64) -> String {
    let shown = most.div_ceil(1_000_000);
    format!(
        "more than {shown} MB come out of it, the limit for a compressed file of its size: unpack it first, or set {MAX_UNPACKED} as in {MAX_UNPACKED}=4GB"
    )
}

/// Reader of unpacked data that fails if more than `most` bytes come out of the decoder.
struct Unpacked<R> {
    inner: R,
    left: u64,
    most: u64,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self
            .left
            .checked_sub(read as u64)
            .ok_or_else(|| std::io::Error::other(too_much_unpacked(self.most)))?;
        Ok(read)
    }
}

/// Opens a file. gzip and xz are recognised by their content, and the unpacked size is limited
/// ([`most_unpacked`]).
pub(crate) fn open(file: &Path) -> Result<Box<dyn BufRead>, TrafficError> {
    let opened = File::open(file).map_err(|error| unreadable(file, &error))?;
    let most = most_unpacked(opened.metadata().map_or(0, |metadata| metadata.len()));
    let mut reader = BufReader::with_capacity(1 << 16, opened);
    let start = reader.fill_buf().map_err(|error| unreadable(file, &error))?;
    let (gzip, xz) = (start.starts_with(&GZIP_MAGIC), start.starts_with(&XZ_MAGIC));
    let unpacked = |inner: Box<dyn Read>| {
        Box::new(BufReader::with_capacity(1 << 16, Unpacked { inner, left: most, most }))
    };
    Ok(match () {
        () if gzip => unpacked(Box::new(MultiGzDecoder::new(reader))),
        () if xz => unpacked(Box::new(XzReader::new_mem_limit(reader, true, XZ_MEMORY_KIB))),
        () => Box::new(reader),
    })
}

/// Lines without their line ends, numbered from 1. Blanks at both ends are cut off, and a byte
/// order mark is skipped.
pub(crate) struct Lines<'f, R> {
    reader: R,
    file: &'f Path,
    buffer: Vec<u8>,
    pub number: u64,
}

impl<'f, R: BufRead> Lines<'f, R> {
    pub fn new(reader: R, file: &'f Path) -> Self {
        Lines { reader, file, buffer: Vec::new(), number: 0 }
    }
    /// Returns the next line, or `None` at the end.
    pub fn next(&mut self) -> Result<Option<&[u8]>, TrafficError> {
        self.buffer.clear();
        let read = (&mut self.reader)
            .take(LONGEST_LINE_BYTES)
            .read_until(b'\n', &mut self.buffer)
            .map_err(|error| unreadable(self.file, &error))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if read as u64 == LONGEST_LINE_BYTES {
            return Err(TrafficError::input(
                self.place(),
                "a line without an end",
                "lines of text",
            ));
        }
        let line = self.buffer.trim_ascii();
        Ok(Some(if self.number == 1 {
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii()
        } else {
            line
        }))
    }
    /// Returns the next line that is neither blank nor a comment (`#`).
    pub fn next_filled(&mut self) -> Result<Option<&[u8]>, TrafficError> {
        loop {
            match self.next()? {
                None => return Ok(None),
                Some(line) if line.is_empty() || line[0] == b'#' => {}
                Some(_) => break,
            }
        }
        // The borrow checker does not allow the loop to return its line.
        let line = self.buffer.trim_ascii();
        Ok(Some(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii()))
    }
    /// Parses the first line that is neither blank nor a comment. The error says what is there
    /// instead of `expected`.
    pub fn heading<T>(
        &mut self,
        expected: &str,
        parse: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<T, TrafficError> {
        let first = self.next_filled()?.map(|line| parse(line).ok_or_else(|| shown(line)));
        let found = match first {
            Some(Ok(parsed)) => return Ok(parsed),
            Some(Err(found)) => found,
            None if self.number == 0 => "an empty file".to_string(),
            None => "only blank lines and comments".to_string(),
        };
        let place = Place::line(self.file, self.number.max(1));
        Err(TrafficError::input(place, found, expected))
    }
    pub fn place(&self) -> Place {
        Place::line(self.file, self.number)
    }
}

/// Returns the fields of a line that is separated by blanks.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Returns input in quotes for a message, shortened and with unprintable characters escaped.
pub(crate) fn shown(found: &[u8]) -> String {
    const LONGEST: usize = 40;
    let text = String::from_utf8_lossy(&found[..found.len().min(4 * LONGEST)]);
    let mut short: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().count() > LONGEST {
        short.push('…');
    }
    if found.is_empty() { "nothing".to_string() } else { format!("`{short}`") }
}

/// Parses a whole decimal number. Returns `None` for anything else, and for numbers that are too
/// large.
pub(crate) fn whole(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    digits.iter().try_fold(0u64, |value, byte| {
        if byte.is_ascii_digit() {
            value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))
        } else {
            None
        }
    })
}

/// Returns a decimal number such as `2.000000027` times `scale`, rounded to the nearest whole
/// number in integer arithmetic. Numbers with an exponent go through floating point. Returns `None`
/// for anything else, and for negative or too large numbers.
pub(crate) fn decimal(text: &[u8], scale: u64) -> Option<u64> {
    let (integer, fraction) = match text.iter().position(|byte| *byte == b'.') {
        Some(dot) => (&text[..dot], &text[dot + 1..]),
        None => (text, &text[text.len()..]),
    };
    let plain = integer.iter().chain(fraction).all(u8::is_ascii_digit)
        && !(integer.is_empty() && fraction.is_empty());
    if !plain || fraction.len() > 18 {
        let value = number(text)? * scale as f64;
        return (0.0..18_446_744_073_709_549_568.0)
            .contains(&value)
            .then_some((value + 0.5) as u64);
    }
    let integer = if integer.is_empty() { 0 } else { whole(integer)? };
    let part = if fraction.is_empty() { 0 } else { u128::from(whole(fraction)?) };
    let power = 10u128.pow(fraction.len() as u32);
    let value =
        u128::from(integer) * u128::from(scale) + (part * u128::from(scale) + power / 2) / power;
    u64::try_from(value).ok()
}

/// Parses a finite number.
pub(crate) fn number(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok().filter(|value: &f64| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(decimal(b"2.000000027", 1_000_000_000), Some(2_000_000_027));
        assert_eq!(decimal(b"2", 1_000), Some(2_000));
        assert_eq!(decimal(b".0005", 1_000), Some(1));
        assert_eq!(decimal(b"1e-3", 1_000_000), Some(1_000));
        for wrong in
            [&b"-1"[..], b"", b".", b"1.2.3", b"nan", b"inf", b"99999999999999999999", b"1e30"]
        {
            assert_eq!(decimal(wrong, 1_000_000_000), None, "{}", shown(wrong));
        }
        assert_eq!(whole(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(whole(b"18446744073709551616"), None);
        assert_eq!(whole(b"+1"), None);
    }

    #[test]
    fn lines_and_words() {
        let mut lines =
            Lines::new(&b"\xef\xbb\xbf# head\r\n\n a  b\t c \r\nend"[..], Path::new("f"));
        assert_eq!(
            words(lines.next_filled().unwrap().unwrap()).collect::<Vec<_>>(),
            [b"a", b"b", b"c"]
        );
        assert_eq!(lines.number, 3);
        assert_eq!(lines.next_filled().unwrap(), Some(&b"end"[..]));
        assert_eq!(lines.next_filled().unwrap(), None);
        assert_eq!(shown(&[b'x'; 100]).chars().count(), 43);
        assert_eq!(shown(b"\xff\n"), "`\u{fffd}\\n`");
    }
}
