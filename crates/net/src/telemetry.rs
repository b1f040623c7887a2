//! In-band telemetry: records that switch ports write on departing frames (HPCC, §4.1: 8 bytes per
//! hop).

/// Bytes on data frames and acknowledgements: five readings and their number.
pub const BYTES: u16 = 42;
/// Maximum number of readings on a frame. Later switches on the path add none.
const MOST: usize = 5;
/// Units of the fields: 128 B of data sent, 80 B of queue, 1 ns of time (in ps).
const BYTES_UNIT: u64 = 128;
const QUEUE_UNIT: u64 = 80;
const NANOSECOND: u64 = 1_000;
const TIME_BITS: u32 = 24;
const SENT_BITS: u32 = 20;
const QUEUE_BITS: u32 = 16;

/// Readings of the ports on the path, in path order. A reading has 4 bits of rate, 24 of time, 20
/// of bytes sent and 16 of queue length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Telemetry {
    words: [u64; MOST],
    count: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Time in ps. In a reading decoded from a frame: modulo 2^24 ns.
    pub time: u64,
    /// Bytes sent by the port. In a reading decoded from a frame: modulo 2^20 units of 128 B.
    pub bytes: u64,
    /// Bytes in the queue behind the frame.
    pub queue: u64,
    /// Rate of the port in bit/s.
    pub rate: u64,
}

impl Reading {
    pub fn time_between(before: &Reading, now: &Reading) -> u64 {
        (now.time / NANOSECOND).wrapping_sub(before.time / NANOSECOND) % (1 << TIME_BITS)
            * NANOSECOND
    }
    pub fn bytes_between(before: &Reading, now: &Reading) -> u64 {
        (now.bytes / BYTES_UNIT).wrapping_sub(before.bytes / BYTES_UNIT) % (1 << SENT_BITS)
            * BYTES_UNIT
    }
}

impl Telemetry {
    #[inline]
    pub fn count(&self) -> u8 {
        self.count
    }

    /// Appends a reading. `rates` are the distinct rates of the fabric's ports, at most sixteen.
    pub fn push(&mut self, reading: Reading, rates: &[u64]) {
        if self.count as usize == MOST {
            return;
        }
        let rate =
            rates.iter().position(|rate| *rate == reading.rate).expect("a rate of the fabric")
                as u64;
        let queue = (reading.queue / QUEUE_UNIT).min((1 << QUEUE_BITS) - 1);
        let bytes = reading.bytes / BYTES_UNIT % (1 << SENT_BITS);
        let time = reading.time / NANOSECOND % (1 << TIME_BITS);
        self.words[self.count as usize] =
            ((rate << TIME_BITS | time) << SENT_BITS | bytes) << QUEUE_BITS | queue;
        self.count += 1;
    }

    pub fn readings<'t>(&'t self, rates: &'t [u64]) -> impl Iterator<Item = Reading> + 't {
        self.words[..self.count as usize].iter().map(|word| Reading {
            queue: word % (1 << QUEUE_BITS) * QUEUE_UNIT,
            bytes: (word >> QUEUE_BITS) % (1 << SENT_BITS) * BYTES_UNIT,
            time: (word >> (QUEUE_BITS + SENT_BITS)) % (1 << TIME_BITS) * NANOSECOND,
            rate: rates[(word >> (QUEUE_BITS + SENT_BITS + TIME_BITS)) as usize],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_was_written_but_for_rounding() {
        let rates = [25_000_000_000, 100_000_000_000];
        let mut telemetry = Telemetry::default();
        let first = Reading {
            time: 16_777_215_999,
            bytes: 128 * ((1 << 20) - 1) + 5,
            queue: 1_000,
            rate: rates[1],
        };
        telemetry.push(first, &rates);
        let got = telemetry.readings(&rates).next().unwrap();
        assert_eq!(
            got,
            Reading {
                time: 16_777_215_000,
                bytes: 128 * ((1 << 20) - 1),
                queue: 960,
                rate: rates[1]
            }
        );
        // Both counters wrap around.
        let mut later = Telemetry::default();
        later.push(
            Reading {
                time: first.time + 3_000_001,
                bytes: first.bytes + 1_048,
                queue: 10_000_000,
                rate: rates[0],
            },
            &rates,
        );
        let later = later.readings(&rates).next().unwrap();
        assert_eq!(
            (Reading::time_between(&got, &later), Reading::bytes_between(&got, &later)),
            (3_001_000, 1_024)
        );
        assert_eq!((later.queue, later.rate), (65_535 * 80, rates[0]));
    }

    #[test]
    fn five_are_all() {
        let mut telemetry = Telemetry::default();
        (0..7).for_each(|time| {
            telemetry.push(Reading { time: time * 1_000, bytes: 0, queue: 0, rate: 1 }, &[1])
        });
        assert_eq!(
            telemetry.readings(&[1]).map(|reading| reading.time).collect::<Vec<_>>(),
            [0, 1_000, 2_000, 3_000, 4_000]
        );
    }
}
