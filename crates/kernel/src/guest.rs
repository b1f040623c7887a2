//! One guest: its process, its clock and its network cards.

use crate::calendar::{Calendar, Said};
use crate::line::NEVER;
use crate::nic::{Nic, NicSpec, Request};
use crate::process::{self, INITRD, Process, SERIAL, Start};
use crate::socket;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Settings of a guest.
#[derive(Debug, Clone)]
pub struct GuestSpec {
    /// Name in messages.
    pub name: String,
    /// Program file of the kernel.
    pub image: PathBuf,
    /// Memory in MiB.
    pub memory: u64,
    pub nics: Vec<NicSpec>,
    /// Root file system (cpio archive).
    pub initramfs: Vec<u8>,
    /// Seed of the kernel's random numbers.
    pub seed: u64,
    /// Longest wall-clock time without giving the clock back.
    pub watchdog: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Running,
    Waiting,
    /// The guest has ended.
    Ended,
}

/// Reason why a guest cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Spins, or sends without end: it has not been idle for the time of its watchdog.
    #[error("did not become idle for {} s of real time (host.kernel watchdog)", .0.as_secs_f64())]
    Busy(Duration),
    #[error("its kernel did not start; if it lacks memory, raise memory in [[host.kernel]]")]
    NoStart,
    #[error("{0}")]
    System(#[from] io::Error),
}

/// A frame that a guest sends: time in ns, card, bytes from the destination address on.
pub type Sent = (u64, u32, Vec<u8>);

/// Counts and times of a guest.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    pub sent: u64,
    pub received: u64,
    /// Frames for which the guest had no buffer.
    pub overruns: u64,
    /// Number of times that the guest was given the clock.
    pub turns: u64,
    /// Wall-clock time in which the guest had the clock.
    pub wall: Duration,
}

impl Counts {
    fn add(&mut self, nic: &Nic) {
        self.sent += nic.sent;
        self.received += nic.received;
        self.overruns += nic.overruns;
    }
}

enum Card {
    Expected(UnixListener, NicSpec),
    Connected(Box<Nic>),
    Gone,
}

pub struct Guest {
    pub name: String,
    pub state: State,
    process: Process,
    calendar: Calendar,
    cards: Vec<Card>,
    console: File,
    serial: File,
    watchdog: Duration,
    /// Wall-clock time at which the guest was given the clock.
    since: Instant,
    counts: Counts,
    sent: Vec<Sent>,
}

/// A started process whose kernel has not called yet.
pub struct Starting {
    spec: GuestSpec,
    process: Process,
    clock: UnixListener,
    cards: Vec<Card>,
    console: File,
    serial: File,
    dir: PathBuf,
}

impl Starting {
    /// Starts the process of a guest.
    pub fn new(spec: GuestSpec) -> io::Result<Starting> {
        let dir = process::new_directory()?;
        let started = Starting::inside(spec, &dir);
        if started.is_err() {
            let _ = std::fs::remove_dir_all(&dir);
        }
        started
    }

    /// Starts the process of a guest, whose sockets are in `dir`. The process removes it.
    fn inside(mut spec: GuestSpec, dir: &Path) -> io::Result<Starting> {
        let clock = UnixListener::bind(dir.join("time"))?;
        let mut sockets = vec!["time".to_string()];
        let mut cards = Vec::new();
        for (index, nic) in spec.nics.iter().enumerate() {
            let name = format!("nic{index}");
            cards.push(Card::Expected(UnixListener::bind(dir.join(&name))?, nic.clone()));
            sockets.push(name);
        }
        let console = process::unnamed(c"console")?;
        let serial = process::unnamed(c"serial")?;
        let mut initrd = process::unnamed(c"initrd")?;
        initrd.write_all(&std::mem::take(&mut spec.initramfs))?;
        // The kernel mixes its command line into its random numbers, so nothing in it may depend on
        // the machine or on the number of other guests.
        let mut arguments = vec![
            format!("mem={}M", spec.memory),
            format!("initrd=/proc/self/fd/{INITRD}"),
            "con=null".into(),
            "con0=null,fd:1".into(),
            "ssl=null".into(),
            format!("ssl0=null,fd:{SERIAL}"),
            "loglevel=4".into(),
            "panic=-1".into(),
            "uml_dir=/dev/shm/".into(),
            "umid=guest".into(),
            "time-travel=ext:1:time".into(),
        ];
        arguments.extend(sockets[1..].iter().map(|name| format!("virtio_uml.device={name}:1")));
        let process = Process::start(&Start {
            image: &spec.image,
            arguments,
            dir,
            sockets,
            console: &console,
            serial: &serial,
            initrd: &initrd,
            seed: spec.seed,
        })?;
        Ok(Starting { spec, process, clock, cards, console, serial, dir: dir.to_path_buf() })
    }

    /// Waits until the kernel has called.
    pub fn started(mut self) -> Result<Guest, (String, Failure)> {
        let begin = Instant::now();
        let mut wait = || -> Result<OwnedFd, Failure> {
            loop {
                let [ready] = socket::readable([self.clock.as_raw_fd()], 50)?;
                if ready {
                    let (stream, _) = self.clock.accept()?;
                    return Ok(OwnedFd::from(stream));
                }
                if self.process.has_ended() {
                    return Err(Failure::NoStart);
                }
                if begin.elapsed() > self.spec.watchdog {
                    return Err(Failure::Busy(self.spec.watchdog));
                }
            }
        };
        let clock = match wait() {
            Ok(clock) => clock,
            Err(failure) => {
                let said = text_of(&mut self.console);
                return Err((said, failure));
            }
        };
        let _ = std::fs::remove_file(self.dir.join("time"));
        Ok(Guest {
            name: self.spec.name,
            state: State::Running,
            process: self.process,
            calendar: Calendar::new(clock),
            cards: self.cards,
            console: self.console,
            serial: self.serial,
            watchdog: self.spec.watchdog,
            since: Instant::now(),
            counts: Counts::default(),
            sent: Vec::new(),
        })
    }
}

fn text_of(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Guest {
    /// Returns everything that the guest has written to its console.
    pub fn console(&mut self) -> String {
        text_of(&mut self.console)
    }

    /// Returns everything that the guest has written to its serial line.
    pub fn serial(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.serial.seek(SeekFrom::Start(0))?;
        self.serial.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    pub fn counts(&self) -> Counts {
        let mut counts = self.counts;
        self.nics().for_each(|nic| counts.add(nic));
        counts
    }

    fn nics(&self) -> impl Iterator<Item = &Nic> {
        self.cards.iter().filter_map(|card| match card {
            Card::Connected(nic) => Some(&**nic),
            _ => None,
        })
    }

    /// Lets a frame arrive at a card at `at` (ns). It must not be earlier than an earlier frame.
    pub fn arrive(&mut self, card: u32, at: u64, frame: Vec<u8>) {
        if let Some(Card::Connected(nic)) = self.cards.get_mut(card as usize)
            && self.state != State::Ended
        {
            nic.arrive(at, frame);
        }
    }

    /// Lets the switch pause priorities (a bit mask) of a card from `at` to `until` (ns), which is
    /// `at` if they may go on. Calls are in order of time.
    pub fn pause(&mut self, card: u32, at: u64, priorities: u8, until: u64) {
        if let Some(Card::Connected(nic)) = self.cards.get_mut(card as usize) {
            nic.pause(at, priorities, until);
        }
    }

    /// Returns the frames sent since the last call.
    pub fn take_sent(&mut self) -> std::vec::Drain<'_, Sent> {
        self.sent.drain(..)
    }

    fn next_interrupt(&self) -> u64 {
        self.nics().map(Nic::next).min().unwrap_or(NEVER)
    }

    /// Returns the time in ns at which the guest next acts by itself or is interrupted.
    pub fn next(&self) -> u64 {
        match self.state {
            State::Ended => NEVER,
            _ => self.next_interrupt().min(self.calendar.request()),
        }
    }

    /// The guest has gone: its clock or a card is closed.
    fn ended(&mut self) {
        self.state = State::Ended;
    }

    /// Lets the waiting guest go on as far as it may before `end` (ns). The guest may then be
    /// running.
    pub fn advance(&mut self, end: u64) -> Result<(), Failure> {
        while self.state == State::Waiting {
            let interrupt = self.next_interrupt();
            let request = self.calendar.request();
            let result = if interrupt < end && interrupt <= request {
                self.interrupt(interrupt)
            } else if request >= end || request >= NEVER {
                return Ok(());
            } else {
                self.counts.turns += 1;
                self.since = Instant::now();
                self.state = State::Running;
                self.calendar.run(end.min(interrupt))
            };
            self.unless_gone(result)?;
        }
        Ok(())
    }

    /// A closed connection means that the guest has ended.
    fn unless_gone(&mut self, result: io::Result<()>) -> Result<(), Failure> {
        match result {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::UnexpectedEof
                        | io::ErrorKind::BrokenPipe
                        | io::ErrorKind::ConnectionReset
                ) =>
            {
                self.ended();
                Ok(())
            }
            other => Ok(other?),
        }
    }

    /// Raises the interrupts that are due at `at`.
    fn interrupt(&mut self, at: u64) -> io::Result<()> {
        self.calendar.set_now(at)?;
        for index in 0..self.cards.len() {
            let Card::Connected(nic) = &mut self.cards[index] else { continue };
            if nic.next() > at {
                continue;
            }
            for ring in nic.interrupt(at)? {
                let Card::Connected(nic) = &self.cards[index] else { continue };
                let Some(interrupts) = nic.interrupts() else { continue };
                socket::send(interrupts, &Nic::interrupt_message(ring))?;
                // The guest queues the interrupt, and may ask for the time meanwhile.
                loop {
                    let fds = [interrupts.as_raw_fd(), self.calendar.socket().as_raw_fd()];
                    let [answered, asks] = socket::readable(fds, -1)?;
                    if asks {
                        self.calendar.serve()?;
                    } else if answered {
                        socket::receive(interrupts, &mut [0; 20])?;
                        break;
                    }
                }
                self.calendar.read_request()?;
            }
        }
        Ok(())
    }

    /// Appends the descriptors on which the running guest may speak.
    pub fn listen(&self, to: &mut Vec<libc::pollfd>) {
        let mut add = |fd| to.push(libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        add(self.calendar.socket().as_raw_fd());
        for card in &self.cards {
            match card {
                Card::Expected(listener, _) => add(listener.as_raw_fd()),
                Card::Connected(nic) => add(nic.socket.as_raw_fd()),
                Card::Gone => {}
            }
        }
    }

    /// Returns the number of descriptors that [`Guest::listen`] appends.
    pub fn listened(&self) -> usize {
        1 + self.cards.iter().filter(|card| !matches!(card, Card::Gone)).count()
    }

    /// Serves the running guest, whose descriptors have the states in `polled`.
    pub fn serve(&mut self, polled: &[libc::pollfd], end: u64) -> Result<(), Failure> {
        let mut own = 1;
        let clock_ready = polled[0].revents != 0;
        for index in 0..self.cards.len() {
            if matches!(self.cards[index], Card::Gone) {
                continue;
            }
            let ready = polled[own].revents != 0;
            own += 1;
            if ready && self.state == State::Running {
                let result = self.serve_card(index);
                self.unless_gone(result)?;
            }
        }
        if clock_ready && self.state == State::Running {
            let said = self.calendar.serve();
            match said {
                Ok(Said::Waits) => {
                    self.state = State::Waiting;
                    self.counts.wall += self.since.elapsed();
                    self.advance(end)?;
                }
                Ok(_) => {}
                Err(error) => self.unless_gone(Err(error))?,
            }
        }
        Ok(())
    }

    fn serve_card(&mut self, index: usize) -> io::Result<()> {
        match &mut self.cards[index] {
            Card::Expected(listener, spec) => {
                let (stream, _) = listener.accept()?;
                let nic = Nic::new(spec.clone(), OwnedFd::from(stream));
                self.cards[index] = Card::Connected(Box::new(nic));
                Ok(())
            }
            Card::Connected(nic) => match nic.serve() {
                Ok(Request::Nothing) => Ok(()),
                Ok(Request::Kick) => {
                    let now = self.calendar.now()?;
                    let mut frames = Vec::new();
                    nic.take(now, &mut frames)?;
                    self.sent.extend(frames.into_iter().map(|frame| (now, index as u32, frame)));
                    let interrupt = nic.next();
                    // The guest must give the clock back before it is told of these frames.
                    if interrupt < self.calendar.free_until() {
                        self.calendar.set_free_until(interrupt)?;
                    }
                    nic.kicked()
                }
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.counts.add(nic);
                    self.cards[index] = Card::Gone;
                    Ok(())
                }
                Err(error) => Err(error),
            },
            Card::Gone => Ok(()),
        }
    }

    /// Returns the time until the watchdog ends the running guest.
    pub fn patience(&self) -> Duration {
        self.watchdog.saturating_sub(self.since.elapsed())
    }

    pub fn watchdog(&self) -> Duration {
        self.watchdog
    }

    /// Ends the guest's processes.
    pub fn kill(&mut self) {
        self.process.end();
        self.ended();
    }
}
