//! Capabilities that live mode needs from the machine.

use crate::sys;
use std::fs;

/// A capability that live mode needs or can use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Need {
    pub name: &'static str,
    pub needed_for: &'static str,
    pub how: &'static str,
}

pub(crate) const NAMESPACES: Need = Need {
    name: "CAP_SYS_ADMIN",
    needed_for: "makes network, mount and process namespaces",
    how: "run as root, or under `unshare --user --map-root-user` where users may make namespaces",
};
pub(crate) const DEVICE: Need = Need {
    name: "/dev/net/tun",
    needed_for: "hands packets of the hosts to the simulated network",
    how: "load the kernel's module tun, and allow reading and writing the file (in a container: --device /dev/net/tun)",
};
pub(crate) const ADMIN: Need = Need {
    name: "CAP_NET_ADMIN",
    needed_for: "makes and sets up the hosts' devices",
    how: "run as root, or under `unshare --user --map-root-user` where users may make namespaces",
};
pub(crate) const PACKETS: Need = Need {
    name: "CAP_NET_RAW",
    needed_for: "attaches interfaces that exist (--attach)",
    how: "run as root; hosts in namespaces do not need it",
};
pub(crate) const REAL_TIME: Need = Need {
    name: "CAP_SYS_NICE",
    needed_for: "keeps other processes from delaying packets (SCHED_FIFO)",
    how: "run as root, or allow it with `ulimit -r`; without it packets are late whenever the machine is busy",
};

/// A capability that live mode needs or can use, and whether it is present.
#[derive(Debug, Clone)]
pub struct Capability {
    pub name: &'static str,
    pub needed_for: &'static str,
    /// True if live mode cannot run without it. Other capabilities only improve the accuracy.
    pub required: bool,
    /// `Err`: the reason why it is missing.
    pub present: Result<(), String>,
    pub how: &'static str,
}

/// Tests everything that live mode needs. The tests leave nothing behind.
pub fn capabilities() -> Vec<Capability> {
    // Each attempt runs in its own thread, because a thread keeps its namespace and scheduling
    // class.
    let tried = |need: Need, required: bool, attempt: fn() -> std::io::Result<()>| {
        let present = std::thread::spawn(attempt)
            .join()
            .unwrap_or_else(|_| Err(std::io::Error::other("panicked")));
        Capability {
            name: need.name,
            needed_for: need.needed_for,
            required,
            present: present.map_err(|error| error.to_string()),
            how: need.how,
        }
    };
    vec![
        tried(NAMESPACES, true, || sys::unshare(libc::CLONE_NEWNET)),
        tried(DEVICE, true, || {
            fs::File::options().read(true).write(true).open("/dev/net/tun").map(drop)
        }),
        tried(ADMIN, true, || {
            sys::unshare(libc::CLONE_NEWNET)?;
            let device = fs::File::options().read(true).write(true).open("/dev/net/tun")?;
            sys::attach_tun(&device, "nic0")
        }),
        tried(PACKETS, false, || sys::PacketSocket::unbound().map(drop)),
        tried(REAL_TIME, false, || sys::schedule(true)),
    ]
}
