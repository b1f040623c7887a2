//! Shows a worker's part of a view, if somebody has asked for one.

use crate::Progress;
use crate::progress::End;
use crate::shard::Shard;

#[derive(Default)]
pub struct Viewer {
    /// The number of the request that was answered last.
    answered: u64,
    /// How many records of flows, at the source and at the destination, were part of an answer.
    sent: usize,
    received: usize,
}

impl Viewer {
    /// Everything up to `now` has happened in the shard.
    #[inline(always)]
    pub fn look(&mut self, shard: &Shard, now: u64, progress: &Progress) {
        let asked = progress.asked();
        if asked != self.answered {
            self.answered = asked;
            self.show(shard, now, progress);
        }
    }

    /// The run is over: whoever has asked before finds everything in the last view.
    pub fn close(&mut self, shard: &Shard, now: u64, progress: &Progress) {
        if progress.asked() > 0 {
            self.show(shard, now, progress);
        }
    }

    #[cold]
    #[inline(never)]
    fn show(&mut self, shard: &Shard, now: u64, progress: &Progress) {
        let world = shard.world;
        let by_last_ack = |flow| world.ends_with_ack(world.shape(world.flow(flow)));
        let at_source = shard.harvest.sent.since(self.sent).filter_map(|record| {
            let (start, ideal) = (record.start, record.ideal);
            if !by_last_ack(record.flow) {
                return Some(End::Source { flow: record.flow, start, ideal });
            }
            record.finish.map(|finish| End::Whole { start, finish, ideal })
        });
        let at_destination = shard.harvest.received.since(self.received).filter_map(|record| {
            let finish = record.finish.filter(|_| !by_last_ack(record.flow))?;
            Some(End::Destination { flow: record.flow, finish })
        });
        progress.show(shard.index as usize, world.shards.len(), shard.look(now), at_source.chain(at_destination));
        (self.sent, self.received) = (shard.harvest.sent.len(), shard.harvest.received.len());
    }
}
