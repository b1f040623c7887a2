//! Linux system calls that the standard library lacks. All unsafe code of this crate is here and in
//! `command`.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::zeroed;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Converts the return value of a system call to a `Result`.
pub fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Moves the calling thread to new namespaces.
pub fn unshare(namespaces: libc::c_int) -> io::Result<()> {
    // SAFETY: takes a number.
    checked(unsafe { libc::unshare(namespaces) }).map(drop)
}

/// Moves the calling thread into an existing namespace.
pub fn join(namespace: RawFd, kind: libc::c_int) -> io::Result<()> {
    // SAFETY: takes numbers; a descriptor that is none is an error.
    checked(unsafe { libc::setns(namespace, kind) }).map(drop)
}

/// Turns real-time scheduling (SCHED_FIFO) of the calling thread on or off. Child processes do not
/// inherit it.
pub fn schedule(in_real_time: bool) -> io::Result<()> {
    const PRIORITY: libc::c_int = 50;
    let (policy, priority) =
        if in_real_time { (libc::SCHED_FIFO, PRIORITY) } else { (libc::SCHED_OTHER, 0) };
    // SAFETY: plain numbers, for which zero is a value.
    let mut parameters: libc::sched_param = unsafe { zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the parameters live across the call.
    checked(unsafe { libc::sched_setscheduler(0, policy | libc::SCHED_RESET_ON_FORK, &parameters) })
        .map(drop)
}

/// Gives the calling thread the highest ordinary priority (nice −20), which applies while it is not
/// real-time.
pub fn go_first_among_ordinary() -> io::Result<()> {
    // SAFETY: takes numbers; Linux's priorities are those of threads.
    checked(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) }).map(drop)
}

/// Sets the timer slack of the calling thread to 1 ns. The default of 50 us would lengthen its
/// sleeps.
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

/// Attaches `device`, an open `/dev/net/tun`, to a new interface in the namespace in which it was
/// opened. The interface leaves checksums and TCP segmentation to afflux, and describes them in a
/// `struct virtio_net_hdr` before each packet.
pub fn attach_tun(device: &File, name: &str) -> io::Result<()> {
    let mut request = request(name);
    request.ifr_ifru.ifru_flags =
        (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
    // SAFETY: the request lives across the call and has the type that the call expects.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF as _, &mut request) })?;
    let offloads = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO_ECN;
    // SAFETY: takes a number.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETOFFLOAD as _, offloads) })?;
    // The interface is persistent to save time. Closing a non-persistent device takes 30 ms each.
    // Persistent devices go with their namespace, and the kernel removes namespaces in bulk after
    // their last descriptor is closed.
    // SAFETY: takes a number.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETPERSIST as _, 1) }).map(drop)
}

/// An interface of the calling thread's network namespace.
pub struct Interface {
    socket: OwnedFd,
    name: String,
}

impl Interface {
    pub fn named(name: &str) -> io::Result<Self> {
        // SAFETY: takes numbers; the returned descriptor has no other owner.
        let socket = unsafe {
            OwnedFd::from_raw_fd(checked(libc::socket(
                libc::AF_INET,
                libc::SOCK_DGRAM | libc::SOCK_CLOEXEC,
                0,
            ))?)
        };
        Ok(Interface { socket, name: name.into() })
    }

    fn ask(
        &self,
        what: libc::c_ulong,
        set: impl FnOnce(&mut libc::ifreq),
    ) -> io::Result<libc::ifreq> {
        let mut request = request(&self.name);
        set(&mut request);
        // SAFETY: the request lives across the call and has the type that these calls expect.
        checked(unsafe { libc::ioctl(self.socket.as_raw_fd(), what as _, &mut request) })?;
        Ok(request)
    }

    pub fn set_address(&self, address: Ipv4Addr, prefix_bits: u32) -> io::Result<()> {
        self.ask(libc::SIOCSIFADDR, |request| {
            request.ifr_ifru.ifru_addr = socket_address(address)
        })?;
        let mask = Ipv4Addr::from(u32::MAX << (32 - prefix_bits));
        self.ask(libc::SIOCSIFNETMASK, |request| {
            request.ifr_ifru.ifru_netmask = socket_address(mask)
        })
        .map(drop)
    }

    pub fn set_mtu(&self, mtu: u16) -> io::Result<()> {
        self.ask(libc::SIOCSIFMTU, |request| request.ifr_ifru.ifru_mtu = mtu.into()).map(drop)
    }

    pub fn mtu(&self) -> io::Result<i32> {
        // SAFETY: the kernel has filled in this part of the answer.
        self.ask(libc::SIOCGIFMTU, |_| ()).map(|answer| unsafe { answer.ifr_ifru.ifru_mtu })
    }

    pub fn index(&self) -> io::Result<i32> {
        // SAFETY: the kernel has filled in the interface index.
        self.ask(libc::SIOCGIFINDEX, |_| ()).map(|answer| unsafe { answer.ifr_ifru.ifru_ifindex })
    }

    pub fn is_up(&self) -> io::Result<bool> {
        // SAFETY: the kernel has filled in the flags.
        let flags = unsafe { self.ask(libc::SIOCGIFFLAGS, |_| ())?.ifr_ifru.ifru_flags };
        Ok(libc::c_int::from(flags) & libc::IFF_UP != 0)
    }

    pub fn is_ethernet(&self) -> io::Result<bool> {
        // SAFETY: the kernel has filled in the hardware address.
        let kind = unsafe { self.ask(libc::SIOCGIFHWADDR, |_| ())?.ifr_ifru.ifru_hwaddr.sa_family };
        Ok(kind == libc::ARPHRD_ETHER)
    }

    /// Returns this machine's own IPv4 address on the interface.
    pub fn address(&self) -> io::Result<Option<Ipv4Addr>> {
        match self.ask(libc::SIOCGIFADDR, |_| ()) {
            // SAFETY: the kernel has filled in the address. Its four bytes follow the two bytes of
            // the port.
            Ok(answer) => Ok(Some(unsafe {
                let data = answer.ifr_ifru.ifru_addr.sa_data;
                Ipv4Addr::new(data[2] as u8, data[3] as u8, data[4] as u8, data[5] as u8)
            })),
            Err(error) if error.raw_os_error() == Some(libc::EADDRNOTAVAIL) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// True if the kernel or the device merges received TCP segments (GRO or LRO).
    pub fn joins_segments(&self) -> io::Result<bool> {
        /// Command numbers and flag of `linux/ethtool.h`: generic receive offload; flags, including
        /// large receive offload.
        const ETHTOOL_GFLAGS: u32 = 0x25;
        const ETHTOOL_GGRO: u32 = 0x2b;
        const ETH_FLAG_LRO: u32 = 1 << 15;
        Ok(self.ethtool(ETHTOOL_GGRO)? != 0 || self.ethtool(ETHTOOL_GFLAGS)? & ETH_FLAG_LRO != 0)
    }

    /// Returns a value that `ethtool` would show, or 0 if the device does not support it.
    fn ethtool(&self, what: u32) -> io::Result<u32> {
        let mut value = [what, 0];
        let asked = self.ask(libc::SIOCETHTOOL, |request| {
            request.ifr_ifru.ifru_data = value.as_mut_ptr().cast()
        });
        match asked {
            Ok(_) => Ok(value[1]),
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Sets the length in packets of the interface's transmit queue, in which packets wait until
    /// they are read.
    pub fn set_queue(&self, packets: u16) -> io::Result<()> {
        self.ask(libc::SIOCSIFTXQLEN, |request| request.ifr_ifru.ifru_metric = packets.into())
            .map(drop)
    }

    pub fn bring_up(&self) -> io::Result<()> {
        // SAFETY: the kernel has filled in this part of the answer.
        let flags = unsafe { self.ask(libc::SIOCGIFFLAGS, |_| ())?.ifr_ifru.ifru_flags };
        self.ask(libc::SIOCSIFFLAGS, |request| {
            request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as libc::c_short
        })
        .map(drop)
    }
}

fn socket_address(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: bytes and numbers, for which zero is a value.
    let mut generic: libc::sockaddr = unsafe { zeroed() };
    generic.sa_family = libc::AF_INET as libc::sa_family_t;
    // The address follows the two bytes of the port (RFC 3493 §3.1 in Linux's layout).
    for (slot, byte) in generic.sa_data[2..6].iter_mut().zip(address.octets()) {
        *slot = byte as libc::c_char;
    }
    generic
}

/// Packet socket that receives all frames of an Ethernet interface, regardless of their
/// destination.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
}

/// Information about a received frame.
#[derive(Debug, Clone, Copy)]
pub struct FrameInfo {
    /// Length in bytes on the cable, also if the frame did not fit into the buffer.
    pub length: usize,
    /// True if the sender left the checksum to a device.
    pub unsummed: bool,
    /// True if the frame has a VLAN tag.
    pub tagged: bool,
}

impl PacketSocket {
    /// Receive buffer in bytes, for frames that arrive while the forwarding thread does not run.
    const SOCKET_BYTES: libc::c_int = 32 << 20;

    /// Opens a socket that is not bound to an interface yet.
    pub fn unbound() -> io::Result<Self> {
        // SAFETY: takes numbers; the returned descriptor has no other owner.
        let socket = unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
            OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_PACKET, kind, 0))?)
        };
        Ok(PacketSocket { socket })
    }

    /// Opens a socket on the interface of this number. It receives only frames that other hosts
    /// send.
    pub fn open(interface: i32) -> io::Result<Self> {
        let socket = Self::unbound()?;
        socket.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, &1)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1)?;
        // Exceeds the system's limit if permitted. Otherwise the buffer is as large as the limit
        // allows.
        socket
            .set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &Self::SOCKET_BYTES)
            .or_else(|_| socket.set(libc::SOL_SOCKET, libc::SO_RCVBUF, &Self::SOCKET_BYTES))?;
        // The membership (promiscuous mode) ends with the socket.
        let membership = libc::packet_mreq {
            mr_ifindex: interface,
            mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        socket.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)?;
        // SAFETY: bytes and numbers, for which zero is a value.
        let mut place: libc::sockaddr_ll = unsafe { zeroed() };
        place.sll_family = libc::AF_PACKET as libc::c_ushort;
        place.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        place.sll_ifindex = interface;
        // SAFETY: the address lives across the call and has the stated size.
        checked(unsafe {
            libc::bind(
                socket.descriptor(),
                (&raw const place).cast(),
                size_of_val(&place) as libc::socklen_t,
            )
        })?;
        Ok(socket)
    }

    fn set<T>(&self, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
        // SAFETY: the value lives across the call and has the stated size.
        checked(unsafe {
            libc::setsockopt(
                self.descriptor(),
                level,
                name,
                (&raw const *value).cast(),
                size_of::<T>() as libc::socklen_t,
            )
        })
        .map(drop)
    }

    pub fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Receives the next frame, if there is one: its first bytes into `head`, the rest into `body`.
    #[inline]
    pub fn receive(&self, head: &mut [u8], body: &mut [u8]) -> io::Result<Option<FrameInfo>> {
        let mut parts = [
            libc::iovec { iov_base: head.as_mut_ptr().cast(), iov_len: head.len() },
            libc::iovec { iov_base: body.as_mut_ptr().cast(), iov_len: body.len() },
        ];
        // `u64` gives the alignment that control messages need.
        let mut control = [0u64; 8];
        // SAFETY: numbers and pointers, for which zero is a value.
        let mut message: libc::msghdr = unsafe { zeroed() };
        (message.msg_iov, message.msg_iovlen) = (parts.as_mut_ptr(), parts.len() as _);
        (message.msg_control, message.msg_controllen) =
            (control.as_mut_ptr().cast(), size_of_val(&control) as _);
        // SAFETY: everything that the message points to lives across the call and has the stated
        // size.
        let length =
            match unsafe { libc::recvmsg(self.descriptor(), &mut message, libc::MSG_TRUNC) } {
                length @ 0.. => length as usize,
                _ => {
                    let error = io::Error::last_os_error();
                    return if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                    ) {
                        Ok(None)
                    } else {
                        Err(error)
                    };
                }
            };
        let mut status = 0;
        // SAFETY: the kernel has filled in the control messages that the macros walk. Each is read
        // as the type that its header states.
        unsafe {
            let mut next = libc::CMSG_FIRSTHDR(&message);
            while let Some(control) = next.as_ref() {
                if control.cmsg_level == libc::SOL_PACKET
                    && control.cmsg_type == libc::PACKET_AUXDATA
                {
                    status = libc::CMSG_DATA(control)
                        .cast::<libc::tpacket_auxdata>()
                        .read_unaligned()
                        .tp_status;
                }
                next = libc::CMSG_NXTHDR(&message, control);
            }
        }
        let has = |bit: u32| status & bit != 0;
        Ok(Some(FrameInfo {
            length,
            unsummed: has(libc::TP_STATUS_CSUMNOTREADY),
            tagged: has(libc::TP_STATUS_VLAN_VALID),
        }))
    }

    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        self.send_parts(&[frame])
    }

    /// Sends one frame that is given in several parts.
    #[inline]
    pub fn send_parts<const N: usize>(&self, parts: &[&[u8]; N]) -> io::Result<()> {
        let parts = parts.map(|part| libc::iovec {
            iov_base: part.as_ptr().cast_mut().cast(),
            iov_len: part.len(),
        });
        // SAFETY: the parts live across the call and are only read.
        let sent = unsafe { libc::writev(self.descriptor(), parts.as_ptr(), N as libc::c_int) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Returns the number of frames dropped for lack of buffer space since the last call.
    pub fn drops(&self) -> io::Result<u64> {
        let mut counts = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut size = size_of_val(&counts) as libc::socklen_t;
        // SAFETY: the counts live across the call and have the stated size.
        checked(unsafe {
            libc::getsockopt(
                self.descriptor(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut counts).cast(),
                &mut size,
            )
        })?;
        Ok(counts.tp_drops.into())
    }
}

/// Waits for descriptors that become readable.
pub struct Poll {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
}

impl Poll {
    pub fn of(descriptors: &[RawFd]) -> io::Result<Self> {
        // SAFETY: takes a number; the returned descriptor has no other owner.
        let epoll =
            unsafe { OwnedFd::from_raw_fd(checked(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        for (index, &descriptor) in descriptors.iter().enumerate() {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: index as u64 };
            // SAFETY: the event lives across the call.
            checked(unsafe {
                libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, descriptor, &mut event)
            })?;
        }
        Ok(Poll {
            epoll,
            events: vec![libc::epoll_event { events: 0, u64: 0 }; descriptors.len().max(1)],
        })
    }

    /// Waits for at most `ns` nanoseconds. Puts the indices of the readable descriptors into
    /// `ready`.
    pub fn wait(&mut self, ns: u64, ready: &mut Vec<usize>) -> io::Result<()> {
        let limit = libc::timespec {
            tv_sec: (ns / 1_000_000_000) as _,
            tv_nsec: (ns % 1_000_000_000) as _,
        };
        let (epoll, buffer) = (self.epoll.as_raw_fd(), self.events.len() as libc::c_int);
        ready.clear();
        // SAFETY: `events` has space for `buffer` entries; it and the limit live across the call;
        // there is no signal mask.
        let found = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                epoll,
                self.events.as_mut_ptr(),
                buffer,
                &limit,
                0usize,
                0usize,
            )
        };
        match checked(found as libc::c_int) {
            Ok(count) => {
                ready.extend(self.events[..count as usize].iter().map(|event| event.u64 as usize))
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Returns a descriptor that becomes readable when the process has ended.
pub fn watch_process(process: u32) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers; the returned descriptor has no other owner.
    unsafe {
        Ok(OwnedFd::from_raw_fd(checked(
            libc::syscall(libc::SYS_pidfd_open, process, 0) as libc::c_int
        )?))
    }
}

pub fn c_string(text: &str) -> io::Result<CString> {
    CString::new(text).map_err(io::Error::other)
}
