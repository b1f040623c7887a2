//! Real hosts: anonymous network namespaces with one TUN device per NIC, or machines behind
//! existing interfaces.

use crate::addresses::{PREFIX_BITS, address};
use crate::capability::{ADMIN, DEVICE, NAMESPACES};
use crate::offload::{Broken, Handed, Unsummed, header_of};
use crate::wire::{Attached, Taken, Wire};
use crate::{Control, LiveError, packet, sys};
use afflux_net::routing::Ports;
use afflux_net::spec::Plan;
use std::fs::{self, File};
use std::io::{self, IoSlice, Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Capacity of a device's queue in packets. A sender hands over at most 64 KB at once, which are
/// 1,000 packets of 64 bytes.
const DEVICE_QUEUE: u16 = 4096;
/// Sysctl settings of a host's namespace, skipped where its kernel lacks them. Without the
/// reverse-path filter, packets can take the scenario's paths. Without IPv6, the host sends no
/// packets besides those of its traffic.
const SETTINGS: [(&str, &str); 4] = [
    ("net/ipv4/conf/all/rp_filter", "0"),
    ("net/ipv4/conf/default/rp_filter", "0"),
    ("net/ipv6/conf/all/disable_ipv6", "1"),
    ("net/ipv6/conf/default/disable_ipv6", "1"),
];

#[derive(Debug)]
pub struct Host {
    /// Host number in the plan.
    pub number: u32,
    pub name: String,
    /// Descriptor that keeps the namespace alive. `None`: the host is another machine or another
    /// part of this machine.
    pub namespace: Option<OwnedFd>,
    pub nics: Vec<Nic>,
}

#[derive(Debug)]
pub struct Nic {
    /// Name of the interface.
    pub name: String,
    pub address: Ipv4Addr,
    device: Device,
}

#[derive(Debug)]
enum Device {
    /// TUN device in a host's namespace.
    Tun(File),
    Wire(Wire),
}

impl Nic {
    pub fn descriptor(&self) -> i32 {
        match &self.device {
            Device::Tun(device) => device.as_raw_fd(),
            Device::Wire(wire) => wire.descriptor(),
        }
    }
    /// Reads a packet of at most `mtu` bytes from the host, if there is one.
    #[inline]
    pub fn take(&self, handed: &mut Handed, mtu: usize) -> io::Result<Taken> {
        let mut device = match &self.device {
            Device::Tun(device) => device,
            Device::Wire(wire) => return wire.take(handed, mtu),
        };
        match device.read(handed.buffer()) {
            Ok(bytes) => Ok(match handed.came(bytes) {
                Err(Broken) => Taken::Foreign,
                Ok(()) if handed.longest() > mtu => Taken::TooLong,
                Ok(()) => Taken::Packet,
            }),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                Ok(Taken::Nothing)
            }
            Err(error) => Err(error),
        }
    }
    /// Delivers a packet to the host. `unsummed`: the sender left the checksum to the device.
    #[inline]
    pub fn give(&self, packet: &mut [u8], unsummed: Option<Unsummed>) -> io::Result<()> {
        match &self.device {
            Device::Tun(device) => (&mut &*device)
                .write_vectored(&[IoSlice::new(&header_of(unsummed)), IoSlice::new(packet)])
                .map(drop),
            Device::Wire(wire) => {
                if unsummed.is_some() {
                    packet::complete(packet);
                }
                wire.give(packet)
            }
        }
    }
    /// True if a host is present. A host behind an interface is present once it has announced its
    /// hardware address.
    pub fn is_known(&self) -> bool {
        match &self.device {
            Device::Tun(_) => true,
            Device::Wire(wire) => wire.is_known(),
        }
    }
}

impl Host {
    /// Returns the path by which other processes of this machine can enter the host's namespace, if
    /// it has one.
    pub fn path_outside(&self) -> Option<String> {
        let namespace = self.namespace.as_ref()?;
        Some(format!("/proc/{}/fd/{}", std::process::id(), namespace.as_raw_fd()))
    }

    /// Returns the interfaces of this machine that lead to the host, if the host is not a
    /// namespace.
    pub fn interfaces(&self) -> Vec<String> {
        if self.namespace.is_some() {
            Vec::new()
        } else {
            self.nics.iter().map(|nic| nic.name.clone()).collect()
        }
    }

    /// Returns the number of packets that its devices dropped before afflux could read them.
    pub fn unread(&self) -> Result<u64, LiveError> {
        let doing = || LiveError::system(format!("reading the counters of {}", self.name));
        let Some(namespace) = self.namespace.as_ref().map(AsRawFd::as_raw_fd) else {
            let drops = self.nics.iter().map(|nic| match &nic.device {
                Device::Tun(_) => Ok(0),
                Device::Wire(wire) => wire.unread(),
            });
            return drops.sum::<io::Result<u64>>().map_err(doing());
        };
        let table = std::thread::scope(|scope| {
            let reader = scope.spawn(move || {
                sys::join(namespace, libc::CLONE_NEWNET)?;
                fs::read_to_string("/proc/thread-self/net/dev")
            });
            reader.join().expect("does not panic")
        });
        let table = table.map_err(doing())?;
        Ok(self.nics.iter().map(|nic| sending_drops(&table, &nic.name).unwrap_or(0)).sum())
    }
}

/// Returns the transmit drops of an interface from `/proc/net/dev`. A line holds eight receive
/// counters, then the transmit counters: bytes, packets, errors, drops, …
fn sending_drops(table: &str, interface: &str) -> Option<u64> {
    let numbers = table
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(interface)?.strip_prefix(':'))?;
    numbers.split_whitespace().nth(11)?.parse().ok()
}

/// Creates the hosts `real` of the plan, namespaces first. Thousands of namespaces take minutes, so
/// it checks for a stop request between two hosts.
pub fn create(
    plan: &Plan,
    real: &[u32],
    attached: &[Attached],
    mtu: u16,
    control: &Control,
) -> Result<Vec<Host>, LiveError> {
    let ports = Ports::new(&plan.topology);
    let at = |number: u32| attached.iter().find(|attached| attached.host == number);
    let mut order = real.to_vec();
    order.sort_by_key(|&number| at(number).is_some());
    order
        .into_iter()
        .map(|number| {
            if control.stopped() {
                return Err(LiveError::Stopped);
            }
            let name = plan.topology.nodes[number as usize].name.clone();
            if let Some(attached) = at(number) {
                return behind(number, name, &attached.interfaces, plan.topology.hosts, mtu);
            }
            let nics = ports.of(number).len() as u32;
            // A separate thread enters the new namespace and ends. Afterwards only descriptors keep
            // the namespace alive.
            std::thread::scope(|scope| {
                scope
                    .spawn(|| inside_a_new_namespace(number, name, nics, mtu))
                    .join()
                    .expect("does not panic")
            })
        })
        .collect()
}

/// Creates a host that is behind existing interfaces.
fn behind(
    number: u32,
    name: String,
    interfaces: &[String],
    hosts: u32,
    mtu: u16,
) -> Result<Host, LiveError> {
    let nics = interfaces.iter().zip(0..).map(|(interface, nic)| {
        let wire = Wire::open(interface, number, nic, hosts, mtu)?;
        Ok(Nic { name: interface.clone(), address: wire.address(), device: Device::Wire(wire) })
    });
    Ok(Host { number, name, namespace: None, nics: nics.collect::<Result<_, LiveError>>()? })
}

fn inside_a_new_namespace(
    number: u32,
    name: String,
    nics: u32,
    mtu: u16,
) -> Result<Host, LiveError> {
    let doing = |what: &str| format!("setting up {name}: {what}");
    sys::unshare(libc::CLONE_NEWNET)
        .map_err(LiveError::unless_permitted(NAMESPACES, &doing("making a network namespace")))?;
    let namespace = File::open("/proc/thread-self/ns/net")
        .map_err(LiveError::system(doing("opening its network namespace")))?;
    for (setting, value) in SETTINGS {
        match fs::write(format!("/proc/sys/{setting}"), value) {
            // The kernel lacks this setting, for example because it has no IPv6.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other.map_err(LiveError::system(doing(&format!("{setting} = {value}"))))?,
        }
    }
    sys::Interface::named("lo")
        .and_then(|lo| lo.bring_up())
        .map_err(LiveError::unless_permitted(ADMIN, &doing("bringing up lo")))?;
    let nics = (0..nics)
        .map(|nic| {
            let interface = format!("nic{nic}");
            let device = open_device(&doing("opening /dev/net/tun"))?;
            sys::attach_tun(&device, &interface).map_err(LiveError::unless_permitted(
                ADMIN,
                &doing(&format!("making {interface}")),
            ))?;
            let address = address(number, nic);
            sys::Interface::named(&interface)
                .and_then(|device| {
                    device.set_mtu(mtu)?;
                    device.set_queue(DEVICE_QUEUE)?;
                    device.set_address(address, PREFIX_BITS)?;
                    device.bring_up()
                })
                .map_err(LiveError::unless_permitted(
                    ADMIN,
                    &doing(&format!("{interface} with {address} and an MTU of {mtu}")),
                ))?;
            Ok(Nic { name: interface, address, device: Device::Tun(device) })
        })
        .collect::<Result<_, LiveError>>()?;
    Ok(Host { number, name, namespace: Some(namespace.into()), nics })
}

fn open_device(doing: &str) -> Result<File, LiveError> {
    let opened =
        File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun");
    opened.map_err(|source| match source.raw_os_error() {
        Some(libc::ENOENT | libc::ENXIO | libc::ENODEV | libc::EPERM | libc::EACCES) => {
            LiveError::Lacking {
                what: DEVICE.name,
                needed_for: DEVICE.needed_for,
                how: DEVICE.how,
                source,
            }
        }
        _ => LiveError::System { doing: doing.into(), source },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_read_from_the_right_column() {
        let table = "Inter-|   Receive                                                |  Transmit\n \
                     face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
                     lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0\n  \
                     nic0:     1       2    3    4    5     6          7         8        9      10   11   12   13    14      15         16\n";
        assert_eq!(sending_drops(table, "nic0"), Some(12));
        assert_eq!(sending_drops(table, "nic1"), None);
    }
}
