//! Root file system of a kernel: busybox, the programs of afflux, the scenario's files, and the
//! scripts that bring up the host and start its commands.

use super::image::Image;
use crate::addresses::{PREFIX_BITS, address};
use afflux_kernel::{Initramfs, Missing};
use afflux_net::spec::Plan;
use afflux_scenario::KernelHost;
use std::fmt::Write;
use std::io;

/// First process of every guest. The memory manager of User-Mode Linux 6.12 loses the upper halves
/// of AVX registers when it switches between processes, so programs are told not to use them.
const INIT: &str = "\
#!/bin/busybox sh
export PATH=/bin:/sbin:/usr/bin:/usr/sbin:/usr/local/bin HOME=/root
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-AVX_Fast_Unaligned_Load,-XSAVE,-XSAVEC,-ERMS
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs tmp /tmp
stty -F /dev/ttyS0 raw -echo
cd /root
. /etc/afflux/host
. /etc/afflux/commands
sleep-until $AFFLUX_END
. /etc/afflux/leave
";

/// Name of the file with samples of TCP's state.
pub const TCP_INFO: &str = "tcp_info.csv";

/// Last act of a guest: it hands over its files on the serial line.
const LEAVE: &str = "\
echo \"[afflux] over\"
killall -q tcpinfo
sleep-until $((AFFLUX_END + 1000000))
tar -c -C /results . > /dev/ttyS0
sync
poweroff -f
";

/// Runs one command: `command NUMBER START_NS 'TEXT'`.
const COMMAND: &str = "\
#!/bin/busybox sh
sleep-until $2
echo \"[afflux] start $1: $3\"
sh -c \"$3\" < /dev/null
status=$?
echo \"[afflux] end $1: status $status at $(cut -d' ' -f1 /proc/uptime) s\"
";

/// Returns the whole tree.
pub fn tree(plan: &Plan, kernel: &KernelHost, image: &Image) -> Result<Initramfs, Missing> {
    let mut tree = Initramfs::new();
    tree.add(&image.busybox, "/bin/busybox")?;
    tree.add(&image.guest, "/bin/sleep-until")?;
    for name in ["bulk", "tcpinfo"] {
        tree.symlink(&format!("/bin/{name}"), "sleep-until");
    }
    tree.symlink("/bin/sh", "busybox");
    for (from, to) in &kernel.files {
        if !from.exists() {
            return Err(Missing { path: from.clone(), source: io::ErrorKind::NotFound.into() });
        }
        tree.add(from, to)?;
    }
    tree.file("/init", INIT.into());
    tree.file("/etc/afflux/leave", LEAVE.into());
    tree.file("/bin/afflux-command", COMMAND.into());
    tree.file("/etc/afflux/host", set_up(plan, kernel).into());
    tree.file("/etc/afflux/commands", commands(kernel).into());
    let mut hosts = String::from("127.0.0.1 localhost\n");
    for (host, node) in (0..plan.topology.hosts).zip(&plan.topology.nodes) {
        writeln!(hosts, "{} {}", address(host, 0), node.name).expect("a String takes everything");
    }
    tree.file("/etc/hosts", hosts.into());
    tree.file("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n".into());
    tree.file("/etc/group", "root:x:0:\n".into());
    Ok(tree)
}

/// Text in single quotes for the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Script that sets names, addresses, routes and kernel parameters. Packets need no ARP: the
/// network goes by IP addresses, and writes the card's own address into each frame.
fn set_up(plan: &Plan, kernel: &KernelHost) -> String {
    let host = kernel.host;
    let links = plan.topology.links.iter().filter(|link| link.a == host || link.b == host);
    let name = &plan.topology.nodes[host as usize].name;
    let end = plan.run.until.map_or(0, |until| until.0.div_ceil(1_000));
    let mut text = format!(
        "export AFFLUX_END={end} AFFLUX_HOST={} AFFLUX_NUMBER={host}\nhostname {}\n",
        quoted(name),
        quoted(name)
    );
    text.push_str("echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6\nip link set lo up\n");
    // A network card takes `net.core.default_qdisc` when it comes up.
    for (name, value) in &kernel.sysctls {
        let setting = quoted(&format!("{name}={value}"));
        writeln!(
            text,
            "sysctl -q -w {setting} || echo {} failed: unknown, or not allowed with this value",
            quoted(&format!("[afflux] sysctl {name}={value}"))
        )
        .expect("a String takes everything");
    }
    for nic in 0..links.count() as u32 {
        let own = address(host, nic);
        // A second card has routes of its own for packets with its address as source.
        let table = 100 + nic;
        write!(
            text,
            "ip link set eth{nic} arp off\nip addr add {own}/{PREFIX_BITS} dev eth{nic}\n\
             ip link set eth{nic} up\nip route add default dev eth{nic} src {own} metric {table}\n\
             ip route add default dev eth{nic} src {own} table {table}\n\
             ip rule add from {own} table {table}\n"
        )
        .expect("a String takes everything");
    }
    text
}

/// Script that starts the sampler, and every command on its own.
fn commands(kernel: &KernelHost) -> String {
    let mut text = String::new();
    if let Some(interval) = kernel.tcp_info {
        writeln!(text, "tcpinfo {interval} > /results/{TCP_INFO} &")
            .expect("a String takes everything");
    }
    for (number, (start, command)) in kernel.commands.iter().enumerate() {
        let start = start.0.div_ceil(1_000);
        writeln!(text, "afflux-command {number} {start} {} &", quoted(command))
            .expect("a String takes everything");
    }
    text
}
