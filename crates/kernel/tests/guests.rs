//! Guests on a wire of 150 ms, without a simulator. Skipped where no image exists
//! (`afflux kernel build`).
#![cfg(target_os = "linux")]

use afflux_kernel::{Failure, Group, GuestSpec, Initramfs, NEVER, NicSpec, State, start};
use std::path::PathBuf;
use std::time::Duration;

const DELAY: u64 = 150_000_000;

fn image() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let base = set("AFFLUX_KERNELS")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(set("HOME")?).join(".cache/afflux/kernels")))?;
    let found = base.join("6.12");
    if found.join("linux").is_file() {
        return Some(found);
    }
    eprintln!("skipped: no kernel 6.12 in {} (afflux kernel build)", base.display());
    None
}

fn spec(image: &std::path::Path, number: u8, script: &str, watchdog: Duration) -> GuestSpec {
    let mut tree = Initramfs::new();
    tree.add(&image.join("busybox"), "/bin/busybox").unwrap();
    tree.add(&image.join("guest"), "/bin/sleep-until").unwrap();
    tree.symlink("/bin/bulk", "sleep-until");
    let init = format!(
        "#!/bin/busybox sh\n/bin/busybox --install -s /bin\nmount -t proc proc /proc\nmount -t devtmpfs dev /dev\n\
         ip link set lo up\nip link set eth0 arp off\nip addr add 10.0.0.{number}/24 dev eth0\nip link set eth0 up\n\
         {script}\npoweroff -f\n"
    );
    tree.file("/init", init.into());
    GuestSpec {
        name: format!("guest{number}"),
        image: image.join("linux"),
        memory: 48,
        nics: vec![NicSpec {
            mac: [2, 0, 0, 0, 0, number],
            mtu: 1500,
            rate: 1_000_000_000_000,
            link_header: 14,
            gap: 0,
            least: 0,
            priority_of_dscp: [0; 64],
        }],
        initramfs: tree.finish(),
        seed: u64::from(number),
        watchdog,
    }
}

/// Frames in order of time, with the sender.
type Log = Vec<(u64, usize, Vec<u8>)>;

/// Runs two guests until `end`. Returns their consoles and a log of the frames.
fn run(specs: Vec<GuestSpec>, end: u64) -> (Vec<String>, Log) {
    let mut group = Group { guests: start(specs).unwrap_or_else(|failed| panic!("{failed:?}")) };
    let mut log = Vec::new();
    assert!(group.run(0, &|| false).is_empty());
    while group.alive() > 0 {
        let next = group.next();
        if next == NEVER || next >= end {
            break;
        }
        assert!(group.run(next + DELAY, &|| false).is_empty());
        let mut sent: Vec<_> = (0..group.guests.len())
            .flat_map(|from| {
                group.guests[from]
                    .take_sent()
                    .map(move |(at, _, frame)| (at, from, frame))
                    .collect::<Vec<_>>()
            })
            .collect();
        sent.sort_by_key(|(at, from, _)| (*at, *from));
        for (at, from, frame) in &sent {
            let to = 1 - from;
            let mut frame = frame.clone();
            frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, to as u8 + 1]);
            group.guests[to].arrive(0, at + DELAY, frame);
        }
        // IPv4 only: a kernel also looks for IPv6 routers and neighbours by itself.
        log.extend(sent.into_iter().filter(|(.., frame)| frame[12..14] == [8, 0]));
    }
    (group.guests.iter_mut().map(|guest| guest.console()).collect(), log)
}

#[test]
fn a_ping_takes_twice_the_delay_every_time() {
    let Some(image) = image() else { return };
    let minute = Duration::from_secs(60);
    let specs = || {
        vec![
            spec(&image, 1, "sleep-until 1000000000\nping -c 20 -i 0.5 10.0.0.2", minute),
            spec(&image, 2, "sleep-until 12000000000", minute),
        ]
    };
    let (consoles, log) = run(specs(), 30_000_000_000);
    // The program reads its clock before and after, which takes 256 ns each.
    let right = |time: &str| time == "300.000" || time == "300.001";
    let times = consoles[0].split("min/avg/max = ").nth(1).and_then(|rest| rest.split(' ').next());
    assert!(times.is_some_and(|times| times.split('/').all(right)), "{}", consoles[0]);
    assert_eq!(log.len(), 40);
    let exact = |pair: &[(u64, usize, Vec<u8>)]| pair[1].0 - pair[0].0 == DELAY;
    assert!(log.chunks(2).all(exact), "a reply leaves when its request arrives");
    let (again, log_again) = run(specs(), 30_000_000_000);
    assert_eq!((log, consoles[0].clone()), (log_again, again[0].clone()), "runs repeat");
}

#[test]
fn a_guest_that_spins_is_stopped_by_its_watchdog() {
    let Some(image) = image() else { return };
    let spec = spec(&image, 1, "while :; do :; done", Duration::from_secs(2));
    let mut group =
        Group { guests: start(vec![spec]).unwrap_or_else(|failed| panic!("{failed:?}")) };
    let mut failed = group.run(0, &|| false);
    failed.extend(group.run(1_000_000_000, &|| false));
    assert!(matches!(failed[..], [(0, Failure::Busy(_))]), "{failed:?}");
    assert_eq!(group.guests[0].state, State::Ended);
}
