//! Guests that run at the same time.

use crate::guest::{Failure, Guest, GuestSpec, Starting, State};
use crate::socket;
use std::io;

/// Guests of one worker. Within a window of virtual time they run in parallel.
pub struct Group {
    pub guests: Vec<Guest>,
}

/// A guest that failed: its name, its console, and the reason.
#[derive(Debug)]
pub struct Failed {
    pub name: String,
    pub console: String,
    pub failure: Failure,
}

/// Starts all guests, in parallel.
pub fn start(specs: Vec<GuestSpec>) -> Result<Vec<Guest>, Failed> {
    let of = |name: &str, failure| Failed { name: name.into(), console: String::new(), failure };
    let mut starting = Vec::new();
    for spec in specs {
        let name = spec.name.clone();
        let started = Starting::new(spec);
        starting.push((name.clone(), started.map_err(|error| of(&name, explained(error)))?));
    }
    let mut guests = Vec::new();
    for (name, one) in starting {
        guests.push(one.started().map_err(|(console, failure)| Failed {
            name,
            console,
            failure,
        })?);
    }
    Ok(guests)
}

/// Adds to a refused permission which one it is.
fn explained(error: io::Error) -> Failure {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES | libc::ENOSPC | libc::EINVAL | libc::ENOSYS) => {
            Failure::System(io::Error::other(format!(
                "kernels run in user namespaces, which this system does not allow ({error}): as root, set \
                 sysctl kernel.unprivileged_userns_clone=1 (Debian) or \
                 kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu) and user.max_user_namespaces above 0; \
                 Linux 5.12 is the oldest that serves"
            )))
        }
        _ => Failure::System(error),
    }
}

impl Group {
    /// Returns the time in ns at which a guest next acts by itself or is interrupted.
    pub fn next(&self) -> u64 {
        self.guests.iter().map(Guest::next).min().unwrap_or(crate::NEVER)
    }

    /// Returns the number of guests that have not ended.
    pub fn alive(&self) -> usize {
        self.guests.iter().filter(|guest| guest.state != State::Ended).count()
    }

    /// Lets all guests run up to but not including `end` (ns). At the end all are idle or ended.
    /// Guests that fail are ended, and returned by index with the reason. All guests that are
    /// running are ended once `stop` returns true.
    pub fn run(&mut self, end: u64, stop: &dyn Fn() -> bool) -> Vec<(usize, Failure)> {
        let mut failed = Vec::new();
        for (index, guest) in self.guests.iter_mut().enumerate() {
            unless_failed(guest.advance(end), index, guest, &mut failed);
        }
        let mut polled = Vec::new();
        loop {
            polled.clear();
            for (index, guest) in self.guests.iter_mut().enumerate() {
                if guest.state == State::Running && (guest.patience().is_zero() || stop()) {
                    let watchdog = guest.watchdog();
                    unless_failed(Err(Failure::Busy(watchdog)), index, guest, &mut failed);
                }
                if guest.state == State::Running {
                    guest.listen(&mut polled);
                }
            }
            if polled.is_empty() {
                return failed;
            }
            if let Err(error) = socket::poll(&mut polled, LOOK_MS) {
                let running = self.guests.iter_mut().enumerate();
                for (index, guest) in running.filter(|(_, guest)| guest.state == State::Running) {
                    let kind = error.kind();
                    unless_failed(Err(io::Error::from(kind).into()), index, guest, &mut failed);
                }
                return failed;
            }
            let mut at = 0;
            for (index, guest) in self.guests.iter_mut().enumerate() {
                if guest.state == State::Running {
                    let own = guest.listened();
                    let served = guest.serve(&polled[at..at + own], end);
                    unless_failed(served, index, guest, &mut failed);
                    at += own;
                }
            }
        }
    }
}

/// Longest wait for guests, in ms, before their watchdogs are looked at.
const LOOK_MS: i32 = 100;

/// Ends a guest that has failed, and notes the reason.
fn unless_failed(
    result: Result<(), Failure>,
    index: usize,
    guest: &mut Guest,
    failed: &mut Vec<(usize, Failure)>,
) {
    if let Err(failure) = result {
        guest.kill();
        failed.push((index, failure));
    }
}
