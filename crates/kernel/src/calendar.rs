//! Time-travel protocol: the clock of one guest (`include/uapi/linux/um_timetravel.h` of Linux).
//!
//! Every message has 16 bytes: operation, sequence number, time in ns. Kernels since 6.10 also
//! share a page of memory with the calendar, and then ask for far fewer messages.

use crate::line::NEVER;
use crate::memory::Mapping;
use crate::process;
use crate::socket;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{Ordering, fence};

const ACK: u32 = 0;
const START: u32 = 1;
const REQUEST: u32 = 2;
const WAIT: u32 = 3;
const GET: u32 = 4;
const UPDATE: u32 = 5;
const RUN: u32 = 6;
const FREE_UNTIL: u32 = 7;
const GET_TOD: u32 = 8;
const BROADCAST: u32 = 9;

/// Time of day at virtual time 0: 2026-01-01 00:00:00 UTC, in ns.
const EPOCH: u64 = 1_767_225_600_000_000_000;

/// Offsets in the shared page (`struct um_timetravel_schedshm`). The guest is client 1.
mod page {
    pub const BYTES: usize = 8192;
    pub const VERSION: usize = 0;
    pub const LENGTH: usize = 4;
    pub const FREE_UNTIL: usize = 8;
    pub const NOW: usize = 16;
    pub const RUNNING: usize = 24;
    pub const CLIENTS: usize = 26;
    const CLIENT: usize = 4096 + 128;
    pub const ABILITIES: usize = CLIENT;
    pub const FLAGS: usize = CLIENT + 4;
    pub const REQUESTED: usize = CLIENT + 8;
    pub const SHARES_TIME: u32 = 1;
    pub const HAS_REQUEST: u32 = 1;
    pub const CURRENT_VERSION: u32 = 2;
}

/// A message of the guest.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Said {
    /// The guest is idle until its request, an interrupt, or for ever.
    Waits,
    Acknowledged,
    Other,
}

#[derive(Debug)]
pub struct Calendar {
    socket: OwnedFd,
    page: Option<Mapping>,
    /// True if the guest uses the page.
    shares: bool,
    sequence: u32,
    now: u64,
    request: u64,
    free_until: u64,
}

fn missing() -> io::Error {
    io::Error::other("the clock's page is too short")
}

impl Calendar {
    pub fn new(socket: OwnedFd) -> Calendar {
        Calendar {
            socket,
            page: None,
            shares: false,
            sequence: 0,
            now: 0,
            request: NEVER,
            free_until: 0,
        }
    }

    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Returns the time at which the idle guest wants to run.
    pub fn request(&self) -> u64 {
        self.request
    }

    pub fn free_until(&self) -> u64 {
        self.free_until
    }

    /// Returns the guest's time.
    pub fn now(&mut self) -> io::Result<u64> {
        if self.shares {
            self.now = self.now.max(self.read(page::NOW)?);
        }
        Ok(self.now)
    }

    /// Sets the time of an idle guest.
    pub fn set_now(&mut self, now: u64) -> io::Result<()> {
        debug_assert!(now >= self.now, "time goes forward");
        self.now = now;
        if self.shares { self.write(page::NOW, now) } else { Ok(()) }
    }

    fn read<T: Copy>(&self, offset: usize) -> io::Result<T> {
        self.page.as_ref().and_then(|page| page.get(offset)).ok_or_else(missing)
    }

    fn write<T: Copy>(&self, offset: usize, value: T) -> io::Result<()> {
        self.page.as_ref().and_then(|page| page.put(offset, value)).ok_or_else(missing)
    }

    fn send(&self, operation: u32, sequence: u32, time: u64) -> io::Result<()> {
        socket::send(&self.socket, &message(operation, sequence, time))
    }

    /// Reads one message of the guest and answers it.
    pub fn serve(&mut self) -> io::Result<Said> {
        let mut bytes = [0; 16];
        socket::receive(&self.socket, &mut bytes)?;
        let number = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four"));
        let time = u64::from_ne_bytes(bytes[8..].try_into().expect("eight"));
        let (operation, sequence) = (number(0), number(4));
        if operation == ACK {
            return Ok(Said::Acknowledged);
        }
        if operation == START {
            self.start(sequence)?;
            return Ok(Said::Other);
        }
        if !self.shares && self.page.is_some() {
            self.shares = self.read::<u32>(page::ABILITIES)? & page::SHARES_TIME != 0;
        }
        let mut answer = 0;
        match operation {
            REQUEST => self.request = time,
            WAIT if self.shares => {
                self.now()?;
                self.read_request()?;
                // A guest with the page expects no acknowledgement here.
                return Ok(Said::Waits);
            }
            WAIT | BROADCAST => {}
            GET => answer = self.now()?,
            GET_TOD => answer = EPOCH + self.now()?,
            UPDATE if time < self.now => {
                return Err(io::Error::other("the guest's clock goes backwards"));
            }
            UPDATE => self.now = time,
            other => return Err(io::Error::other(format!("unknown clock operation {other}"))),
        }
        self.send(ACK, sequence, answer)?;
        Ok(if operation == WAIT { Said::Waits } else { Said::Other })
    }

    /// Answers START with the page and a log. The kernel closes whatever it takes for their
    /// descriptors, so they are sent to kernels that do not know them as well.
    fn start(&mut self, sequence: u32) -> io::Result<()> {
        let file = process::unnamed(c"clock")?;
        file.set_len(page::BYTES as u64)?;
        let file = OwnedFd::from(file);
        self.page = Some(Mapping::new(&file, page::BYTES, 0)?);
        self.write(page::VERSION, page::CURRENT_VERSION)?;
        self.write(page::LENGTH, 4096u32 + 2 * 128)?;
        self.write(page::FREE_UNTIL, 0u64)?;
        self.write(page::NOW, self.now)?;
        self.write(page::RUNNING, 1u16)?;
        self.write(page::CLIENTS, 2u16)?;
        let log = std::fs::File::options().write(true).open("/dev/null")?;
        let answer = message(ACK, sequence, 1);
        socket::send_with(&self.socket, &answer, &[file.as_raw_fd(), log.as_raw_fd()])
    }

    /// Reads the request of an idle guest from the page, if the guest uses it.
    pub fn read_request(&mut self) -> io::Result<()> {
        if self.shares {
            let has = self.read::<u32>(page::FLAGS)? & page::HAS_REQUEST != 0;
            self.request = if has { self.read(page::REQUESTED)? } else { NEVER };
        }
        Ok(())
    }

    fn until_acknowledged(&mut self) -> io::Result<()> {
        while self.serve()? != Said::Acknowledged {}
        Ok(())
    }

    /// Allows the guest to run up to but not including `until` without asking.
    pub fn set_free_until(&mut self, until: u64) -> io::Result<()> {
        self.free_until = until;
        if self.shares {
            return self.write(page::FREE_UNTIL, until);
        }
        self.sequence += 1;
        self.send(FREE_UNTIL, self.sequence, until)?;
        self.until_acknowledged()
    }

    /// Lets the idle guest run from the time of its request, and up to `until` without asking.
    pub fn run(&mut self, until: u64) -> io::Result<()> {
        let at = self.request;
        self.set_now(at)?;
        self.request = NEVER;
        self.set_free_until(until)?;
        if self.shares {
            fence(Ordering::SeqCst);
            return self.send(RUN, 0, at);
        }
        self.sequence += 1;
        self.send(RUN, self.sequence, at)?;
        self.until_acknowledged()
    }
}

fn message(operation: u32, sequence: u32, time: u64) -> [u8; 16] {
    let mut message = [0; 16];
    message[..4].copy_from_slice(&operation.to_ne_bytes());
    message[4..8].copy_from_slice(&sequence.to_ne_bytes());
    message[8..].copy_from_slice(&time.to_ne_bytes());
    message
}
