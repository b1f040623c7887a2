//! Memory use of this process, and the memory that it can still allocate. Linux only: on other
//! systems all values are unknown.

use std::fs::{self, File};
use std::path::Path;

/// Largest number of bytes that this process may have resident, and the limit that sets this
/// number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimit {
    pub bytes: u64,
    pub by: Bound,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Free memory of the machine.
    Machine,
    /// The control group of this process (a container's limit).
    Group,
    /// The process's address space (`ulimit -v`).
    AddressSpace,
}

/// Share of the free memory, in percent, that this process may take. The rest is left to the system
/// and to other processes.
const SHARE_PERCENT: u64 = 90;

/// Returns the resident memory of this process in bytes.
pub fn resident() -> Option<u64> {
    Meter::new()?.resident()
}

/// Returns the peak resident memory of this process in bytes.
pub fn peak_resident() -> Option<u64> {
    field(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// Returns the resident memory that this process may reach: the minimum over the machine's free
/// memory and the limits of its control groups and its address space. `None` if the system does not
/// report them.
pub fn available() -> Option<MemoryLimit> {
    let resident = resident()?;
    let (free, by) = [
        (machine(), Bound::Machine),
        (group(Path::new("/")), Bound::Group),
        (address_space(), Bound::AddressSpace),
    ]
    .into_iter()
    .filter_map(|(free, by)| Some((free?, by)))
    .min_by_key(|(free, _)| *free)?;
    Some(MemoryLimit { bytes: resident + free / 100 * SHARE_PERCENT, by })
}

/// Reader of the resident memory of this process that can be called often: each call takes about a
/// microsecond.
#[derive(Debug)]
pub struct Meter {
    statm: File,
    page: u64,
}

impl Meter {
    pub fn new() -> Option<Self> {
        Some(Meter {
            statm: File::open("/proc/self/statm").ok()?,
            page: rustix::param::page_size() as u64,
        })
    }

    /// Returns the resident memory of this process in bytes.
    pub fn resident(&self) -> Option<u64> {
        let mut text = [0u8; 128];
        let length = read_at(&self.statm, &mut text)?;
        // proc_pid_statm(5): the second field is the resident set in pages.
        std::str::from_utf8(&text[..length])
            .ok()?
            .split_ascii_whitespace()
            .nth(1)?
            .parse::<u64>()
            .ok()
            .map(|pages| pages * self.page)
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

/// Returns the number of bytes in a line of the form `name 123 kB`.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1_024)
}

fn machine() -> Option<u64> {
    field(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// Returns the free memory of the tightest control group of this process, in cgroup v1 and v2.
/// `root` is "/" except in tests.
fn group(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mut least: Option<u64> = None;
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (mount, limit, usage, inactive) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "),
            "memory" => (
                "sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                "total_inactive_file ",
            ),
            _ => continue,
        };
        let mount = root.join(mount);
        // Walk from the group up to the root of the hierarchy. In a container, the root is the
        // container's own group.
        let mut at = mount.join(path.trim_start_matches('/'));
        loop {
            let number =
                |name: &str| fs::read_to_string(at.join(name)).ok()?.trim().parse::<u64>().ok();
            if let (Some(limit), Some(usage)) = (number(limit), number(usage)) {
                let stat = fs::read_to_string(at.join("memory.stat")).unwrap_or_default();
                // Cached files count as used, but the kernel can reclaim them.
                let cached = stat
                    .lines()
                    .find_map(|line| line.strip_prefix(inactive)?.trim().parse::<u64>().ok())
                    .unwrap_or(0);
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

/// Returns half of the remaining address space: a buffer that grows by doubling occupies twice as
/// many addresses as it fills.
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
