//! Publishes a worker's part of the live view, if a view was requested.

use crate::Progress;
use crate::progress::End;
use crate::shard::Shard;

#[derive(Default)]
pub struct Viewer {
    /// Number of the latest request that was answered.
    answered: u64,
    /// Number of flow records, at the source and at the destination, that were part of an earlier
    /// answer.
    sent: usize,
    received: usize,
}

impl Viewer {
    /// Answers a new request, if there is one. All events up to `now` must have been handled in the
    /// shard.
    #[inline(always)]
    pub fn look(&mut self, shard: &Shard, now: u64, progress: &Progress) {
        let asked = progress.requests();
        if asked != self.answered {
            self.answered = asked;
            self.show(shard, now, progress);
        }
    }

    /// Publishes the final view at the end of a run, if a view was ever requested.
    pub fn close(&mut self, shard: &Shard, now: u64, progress: &Progress) {
        if progress.requests() > 0 {
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
        progress.show(
            shard.index as usize,
            world.shards.len(),
            shard.look(now),
            at_source.chain(at_destination),
        );
        (self.sent, self.received) = (shard.harvest.sent.len(), shard.harvest.received.len());
    }
}
