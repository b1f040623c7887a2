//! The memory of this process, and how much more of it there is to have. Linux only: elsewhere nothing is known.

use std::fs::{self, File};
use std::path::Path;

/// Most bytes that may be resident in this process, and what sets that bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimit {
    pub bytes: u64,
    pub by: Bound,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The memory that the machine has left.
    Machine,
    /// The control group of this process (a container's limit).
    Group,
    /// The process's address space (`ulimit -v`).
    AddressSpace,
}

/// Of what is free, the share that one process may take: the rest is for the system, and for what others take meanwhile.
const SHARE_PERCENT: u64 = 90;

/// Bytes of this process that are in memory now.
pub fn resident() -> Option<u64> {
    Meter::new()?.resident()
}

/// The largest number of bytes of this process that were in memory so far.
pub fn peak_resident() -> Option<u64> {
    field(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// What this process may take, by what the machine has left, the limits of its control groups and of its address space. `None` where the
/// system does not tell.
pub fn available() -> Option<MemoryLimit> {
    let resident = resident()?;
    let (free, by) = [(machine(), Bound::Machine), (group(Path::new("/")), Bound::Group), (address_space(), Bound::AddressSpace)]
        .into_iter()
        .filter_map(|(free, by)| Some((free?, by)))
        .min_by_key(|(free, _)| *free)?;
    Some(MemoryLimit { bytes: resident + free / 100 * SHARE_PERCENT, by })
}

/// Reads the resident memory of this process again and again, at about a microsecond each.
#[derive(Debug)]
pub struct Meter {
    statm: File,
    page: u64,
}

impl Meter {
    pub fn new() -> Option<Self> {
        Some(Meter { statm: File::open("/proc/self/statm").ok()?, page: rustix::param::page_size() as u64 })
    }

    /// Bytes that are in memory now.
    pub fn resident(&self) -> Option<u64> {
        let mut text = [0u8; 128];
        let length = read_at(&self.statm, &mut text)?;
        // proc_pid_statm(5): the second field is the resident set in pages.
        std::str::from_utf8(&text[..length]).ok()?.split_ascii_whitespace().nth(1)?.parse::<u64>().ok().map(|pages| pages * self.page)
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8]) -> Option<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, 0).ok()
}
#[cfg(not(unix))]
fn read_at(_: &File, _: &mut [u8]) -> Option<usize> {
    None
}

/// Bytes that a line `name 123 kB` tells.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1_024)
}

fn machine() -> Option<u64> {
    field(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// What the tightest of this process's control groups has left, both kinds of hierarchy; `root` is "/" but for tests.
fn group(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mut least: Option<u64> = None;
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (mount, limit, usage, inactive) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "),
            "memory" => ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "),
            _ => continue,
        };
        let mount = root.join(mount);
        // From the group up to the root of the hierarchy. In a container its own group is mounted there.
        let mut at = mount.join(path.trim_start_matches('/'));
        loop {
            let number = |name: &str| fs::read_to_string(at.join(name)).ok()?.trim().parse::<u64>().ok();
            if let (Some(limit), Some(usage)) = (number(limit), number(usage)) {
                let stat = fs::read_to_string(at.join("memory.stat")).unwrap_or_default();
                // Cached files count as used, but make room.
                let cached = stat.lines().find_map(|line| line.strip_prefix(inactive)?.trim().parse::<u64>().ok()).unwrap_or(0);
                let left = limit.saturating_sub(usage.saturating_sub(cached));
                least = Some(least.map_or(left, |least| least.min(left)));
            }
            if at == mount || !at.pop() {
                break;
            }
        }
    }
    least
}

/// Half of the address space that is left: memory that grows by doubling takes twice as many addresses as it fills.
fn address_space() -> Option<u64> {
    let most = limit()?;
    let taken = field(&fs::read_to_string("/proc/self/status").ok()?, "VmSize:")?;
    Some(most.saturating_sub(taken) / 2)
}

#[cfg(unix)]
fn limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}
#[cfg(not(unix))]
fn limit() -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process() {
        let (now, peak) = (resident().unwrap(), peak_resident().unwrap());
        assert!(now > 100_000 && peak >= now / 2, "{now} of {peak}");
        let more = std::hint::black_box(vec![1u8; 64 << 20]);
        assert!(resident().unwrap() > now + (60 << 20));
        drop(more);
        let limit = available().unwrap();
        assert!(limit.bytes > now && limit.bytes < 1 << 50, "{limit:?}");
    }

    #[test]
    fn the_tightest_control_group_counts() {
        let root = std::env::temp_dir().join(format!("afflux-groups-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(group(&root), None);
        write("proc/self/cgroup", "12:cpu:/a\n0::/a/b\n");
        write("sys/fs/cgroup/a/b/memory.max", "max\n");
        write("sys/fs/cgroup/a/b/memory.current", "500\n");
        assert_eq!(group(&root), None);
        write("sys/fs/cgroup/a/memory.max", "9000\n");
        write("sys/fs/cgroup/a/memory.current", "5000\n");
        assert_eq!(group(&root), Some(4_000));
        write("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 1500\n");
        assert_eq!(group(&root), Some(5_500));
        write("proc/self/cgroup", "4:memory:/a\n0::/a/b\n");
        write("sys/fs/cgroup/memory/memory.limit_in_bytes", "3000\n");
        write("sys/fs/cgroup/memory/memory.usage_in_bytes", "100\n");
        assert_eq!(group(&root), Some(2_900));
        fs::remove_dir_all(&root).unwrap();
    }
}
