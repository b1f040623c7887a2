//! What the kernel offers and the standard library does not. All of this crate's unsafe code is here and in `command`.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::zeroed;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Of what a system call has returned.
pub fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The calling thread leaves the namespaces that it shares.
pub fn unshare(namespaces: libc::c_int) -> io::Result<()> {
    // SAFETY: takes a number.
    checked(unsafe { libc::unshare(namespaces) }).map(drop)
}

/// The calling thread joins a namespace.
pub fn join(namespace: RawFd, kind: libc::c_int) -> io::Result<()> {
    // SAFETY: takes numbers; a descriptor that is none is an error.
    checked(unsafe { libc::setns(namespace, kind) }).map(drop)
}

/// Whether the calling thread runs before all that is not real-time; what it starts does not.
pub fn schedule(in_real_time: bool) -> io::Result<()> {
    const PRIORITY: libc::c_int = 50;
    let (policy, priority) = if in_real_time { (libc::SCHED_FIFO, PRIORITY) } else { (libc::SCHED_OTHER, 0) };
    // SAFETY: plain numbers, for which zero is a value.
    let mut parameters: libc::sched_param = unsafe { zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the parameters live across the call.
    checked(unsafe { libc::sched_setscheduler(0, policy | libc::SCHED_RESET_ON_FORK, &parameters) }).map(drop)
}

/// The calling thread has the highest priority while it is not real-time.
pub fn go_first_among_ordinary() -> io::Result<()> {
    // SAFETY: takes numbers; Linux's priorities are those of threads.
    checked(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) }).map(drop)
}

/// The calling thread's sleeps are not lengthened by 50 us to save power.
pub fn sleep_exactly() -> io::Result<()> {
    // SAFETY: takes numbers.
    checked(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) }).map(drop)
}

fn request(name: &str) -> libc::ifreq {
    // SAFETY: bytes and numbers, for which zero is a value.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (slot, byte) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *slot = byte as libc::c_char;
    }
    request
}

/// Makes `device`, an open `/dev/net/tun`, the other side of a new interface in the namespace in which it was opened. Without checksum and
/// segmentation offloads, so that packets are whole, and with nothing before them.
pub fn attach_tun(device: &File, name: &str) -> io::Result<()> {
    let mut request = request(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the request lives across the call, and is of the kind it takes.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF as _, &mut request) }).map(drop)
}

/// An interface of the calling thread's network namespace.
pub struct Interface {
    socket: OwnedFd,
    name: String,
}

impl Interface {
    pub fn named(name: &str) -> io::Result<Self> {
        // SAFETY: takes numbers; the descriptor it returns is nobody else's.
        let socket = unsafe { OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0))?) };
        Ok(Interface { socket, name: name.into() })
    }

    fn ask(&self, what: libc::c_ulong, set: impl FnOnce(&mut libc::ifreq)) -> io::Result<libc::ifreq> {
        let mut request = request(&self.name);
        set(&mut request);
        // SAFETY: the request lives across the call, and is of the kind that these take.
        checked(unsafe { libc::ioctl(self.socket.as_raw_fd(), what as _, &mut request) })?;
        Ok(request)
    }

    pub fn set_address(&self, address: Ipv4Addr, prefix_bits: u32) -> io::Result<()> {
        self.ask(libc::SIOCSIFADDR, |request| request.ifr_ifru.ifru_addr = socket_address(address))?;
        let mask = Ipv4Addr::from(u32::MAX << (32 - prefix_bits));
        self.ask(libc::SIOCSIFNETMASK, |request| request.ifr_ifru.ifru_netmask = socket_address(mask)).map(drop)
    }

    pub fn set_mtu(&self, mtu: u16) -> io::Result<()> {
        self.ask(libc::SIOCSIFMTU, |request| request.ifr_ifru.ifru_mtu = mtu.into()).map(drop)
    }

    /// Packets that wait to be read.
    pub fn set_queue(&self, packets: u16) -> io::Result<()> {
        self.ask(libc::SIOCSIFTXQLEN, |request| request.ifr_ifru.ifru_metric = packets.into()).map(drop)
    }

    pub fn bring_up(&self) -> io::Result<()> {
        // SAFETY: the kernel has filled in this part of the answer.
        let flags = unsafe { self.ask(libc::SIOCGIFFLAGS, |_| ())?.ifr_ifru.ifru_flags };
        self.ask(libc::SIOCSIFFLAGS, |request| request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as libc::c_short).map(drop)
    }
}

fn socket_address(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: bytes and numbers, for which zero is a value.
    let mut generic: libc::sockaddr = unsafe { zeroed() };
    generic.sa_family = libc::AF_INET as libc::sa_family_t;
    // Behind the port (RFC 3493 §3.1 as Linux lays it out).
    for (slot, byte) in generic.sa_data[2..6].iter_mut().zip(address.octets()) {
        *slot = byte as libc::c_char;
    }
    generic
}

/// Tells which descriptors can be read.
pub struct Poll {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
}

impl Poll {
    pub fn of(descriptors: &[RawFd]) -> io::Result<Self> {
        // SAFETY: takes a number; the descriptor it returns is nobody else's.
        let epoll = unsafe { OwnedFd::from_raw_fd(checked(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        for (index, &descriptor) in descriptors.iter().enumerate() {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: index as u64 };
            // SAFETY: the event lives across the call.
            checked(unsafe { libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, descriptor, &mut event) })?;
        }
        Ok(Poll { epoll, events: vec![libc::epoll_event { events: 0, u64: 0 }; descriptors.len().max(1)] })
    }

    /// Waits for at most `ns`. Puts the places of those that can be read into `ready`.
    pub fn wait(&mut self, ns: u64, ready: &mut Vec<usize>) -> io::Result<()> {
        let limit = libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ };
        let (epoll, room) = (self.epoll.as_raw_fd(), self.events.len() as libc::c_int);
        ready.clear();
        // SAFETY: the events have room for `room`; they and the limit live across the call; there is no signal mask.
        let found = unsafe { libc::syscall(libc::SYS_epoll_pwait2, epoll, self.events.as_mut_ptr(), room, &limit, 0usize, 0usize) };
        match checked(found as libc::c_int) {
            Ok(count) => ready.extend(self.events[..count as usize].iter().map(|event| event.u64 as usize)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Can be read once the process is over.
pub fn watch_process(process: u32) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers; the descriptor it returns is nobody else's.
    unsafe { Ok(OwnedFd::from_raw_fd(checked(libc::syscall(libc::SYS_pidfd_open, process, 0) as libc::c_int)?)) }
}

pub fn c_string(text: &str) -> io::Result<CString> {
    CString::new(text).map_err(io::Error::other)
}
