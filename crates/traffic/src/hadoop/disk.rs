//! A disk that all active requests share equally (processor sharing).

use super::process::{Giver, Signal, Simulation};
use afflux_units::{Span, Time};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Binary digits of the fraction of a picosecond: the service of a request is counted in 2^-20 ps.
const FRACTION: u32 = 20;

#[derive(Clone)]
pub struct Disk {
    simulation: Simulation,
    shared: Arc<Mutex<Sharing>>,
}

#[derive(Default)]
struct Sharing {
    /// Service in 2^-20 ps that a request present all the time would have had up to `last`.
    served: u128,
    last: u64,
    /// Active requests by the value of `served` at which they end, then in order of arrival.
    requests: BTreeMap<(u128, u64), Giver>,
    count: u64,
    /// Time in ps of the next check; `None` if none is scheduled.
    armed: Option<u64>,
}

impl Sharing {
    fn advance(&mut self, now: u64) {
        if !self.requests.is_empty() {
            self.served += (((now - self.last) as u128) << FRACTION) / self.requests.len() as u128;
        }
        self.last = now;
    }

    /// Returns the time in ps at which the first request ends if no other is added.
    fn next_end(&self) -> Option<u64> {
        let ((end, _), _) = self.requests.first_key_value()?;
        let left = end.saturating_sub(self.served) * self.requests.len() as u128;
        Some(self.last + left.div_ceil(1 << FRACTION) as u64)
    }
}

impl Disk {
    pub fn new(simulation: &Simulation) -> Self {
        Disk { simulation: simulation.clone(), shared: Arc::default() }
    }

    /// Adds a request that takes `service` if it has the disk to itself. The signal is given at its
    /// end.
    pub fn request(&self, service: Span) -> Signal {
        let (giver, signal) = self.simulation.signal();
        {
            let mut sharing = self.shared.lock().expect("no process panics");
            sharing.advance(self.simulation.now().0);
            sharing.count += 1;
            let key = (sharing.served + ((service.0 as u128) << FRACTION), sharing.count);
            sharing.requests.insert(key, giver);
        }
        self.arm();
        signal
    }

    /// Schedules a check at the next end of a request.
    fn arm(&self) {
        let mut sharing = self.shared.lock().expect("no process panics");
        let Some(at) = sharing.next_end() else { return };
        if sharing.armed.is_some_and(|armed| armed <= at) {
            return;
        }
        sharing.armed = Some(at);
        drop(sharing);
        let disk = self.clone();
        drop(self.simulation.spawn(async move {
            disk.simulation.until(Time(at)).await;
            disk.look(at);
        }));
    }

    fn look(&self, at: u64) {
        let ended: Vec<Giver> = {
            let mut sharing = self.shared.lock().expect("no process panics");
            if sharing.armed != Some(at) {
                // An earlier check has been scheduled in the meantime.
                return;
            }
            sharing.armed = None;
            sharing.advance(at);
            let after = (sharing.served + 1, 0);
            let later = sharing.requests.split_off(&after);
            std::mem::replace(&mut sharing.requests, later).into_values().collect()
        };
        ended.into_iter().for_each(|giver| self.simulation.give(giver));
        self.arm();
    }
}
