//! Keys of processors that handle arriving frames: `processor` of `[switch]` and `[host]`.

use afflux_config::keys::at_most_a_second;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, keys};
use afflux_units::Span;

keys! {
    /// A processor that handles the frames of all links one after the other: a router made of a
    /// personal computer, or a host whose kernel is busy at times. A frame that finds the
    /// processor's queue full is dropped and counted in `in_discards`.
    #[derive(Copy)]
    pub struct ProcessorKeys as "Processor" => Processor {
        /// Processor time of a frame: `"25us"` is 40,000 packets per second.
        packet_time: Duration = "0ns", check at_most_a_second;
        /// Additional processor time of each arrival, even if the frame is then dropped. Above its
        /// capacity such a processor therefore handles fewer frames (receive livelock, Mogul and
        /// Ramakrishnan 1997).
        interrupt_time: Duration = "0ns", check at_most_a_second;
        /// Largest number of waiting frames, including the one in processing.
        queue: u32 = 300 from "Linux 2.2 and 2.4: `netdev_max_backlog`", in 1 to 1_000_000 as "a number of frames from 1 to 1000000";
        /// Times at which the processor stops, such as those of a receiver whose kernel writes to
        /// its disk (the KEK talk of 2001). Default: none: the processor never stops.
        stall: StallKeys as Option<Stall> = none, table StallKeys::resolve;
    }
}

impl ProcessorKeys {
    pub fn processor(&mut self, key: &Key) -> Result<Processor, Wrong> {
        let processor = self.resolve(key)?;
        let times = [processor.packet_time, processor.interrupt_time];
        if times == [Span::ZERO; 2] && processor.stall.is_none() {
            let what = "a processor without any cost has no effect: write packet_time, interrupt_time or stall, or \"off\"";
            return Err(Wrong::at(key.clone(), what));
        }
        Ok(processor)
    }
}

keys! {
    /// Periods of work and of standstill that alternate from the start of the run.
    #[derive(Copy)]
    pub struct StallKeys as "Stall" => Stall {
        /// Time during which the processor works.
        work: Duration = required, check from_1_us_to_1_h;
        /// Time during which the processor stands still.
        pause: Duration = required, check from_1_us_to_1_h;
    }
}

fn from_1_us_to_1_h(Duration(time): Duration, key: Key) -> Result<Span, Wrong> {
    if time < Span::from_us(1) || time > Span::from_s(3_600) {
        Err(Wrong::at(key, format!("\"{time}\": write a time from 1us to 3600s")))
    } else {
        Ok(time)
    }
}
