//! Process of a guest, isolated from the machine.
//!
//! Three processes belong to each guest. The outer one removes the guest's sockets at the end. It
//! has a child in new user, process, network and IPC namespaces, where the child is process 1:
//! when it ends, the system ends everything in the namespace. It ends when the guest does, and when
//! the other end of its pipe is closed, as happens when the controlling process ends in any way.
//! The third process is the guest. It has no privileges, sees all file systems read-only, and has
//! an in-memory file system of its own for the memory of the virtual machine.
#![allow(unsafe_code)]

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Numbers under which the guest finds its files.
const LIFE: RawFd = 200;
pub const SERIAL: RawFd = 201;
pub const INITRD: RawFd = 202;

/// Program, arguments and files of a guest's process.
pub struct Start<'a> {
    pub image: &'a Path,
    pub arguments: Vec<String>,
    /// Directory with the sockets, in which the process starts.
    pub dir: &'a Path,
    /// Names in `dir` that are removed at the end.
    pub sockets: Vec<String>,
    pub console: &'a File,
    pub serial: &'a File,
    pub initrd: &'a File,
    pub seed: u64,
}

pub struct Process {
    outer: Child,
    /// Closing it ends all processes of the guest.
    life: Option<OwnedFd>,
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn c_string(bytes: &OsStr) -> io::Result<CString> {
    CString::new(bytes.as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Everything that the processes need after the fork, when memory must not be allocated.
struct Prepared {
    life: RawFd,
    serial: RawFd,
    initrd: RawFd,
    uid_map: Vec<u8>,
    gid_map: Vec<u8>,
    sockets: Vec<CString>,
    dir: CString,
}

impl Process {
    /// # Errors
    /// `PermissionDenied` where the system does not allow user namespaces.
    pub fn start(start: &Start) -> io::Result<Process> {
        let mut ends = [0; 2];
        // SAFETY: the array has room for two descriptors, which become owned.
        let (life, other) = unsafe {
            checked(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC))?;
            (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
        };
        // SAFETY: these calls have no arguments and always succeed.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        let sockets = start.sockets.iter().map(|name| c_string(start.dir.join(name).as_os_str()));
        let prepared = Prepared {
            life: life.as_raw_fd(),
            serial: start.serial.as_raw_fd(),
            initrd: start.initrd.as_raw_fd(),
            uid_map: format!("{user} {user} 1").into_bytes(),
            gid_map: format!("{group} {group} 1").into_bytes(),
            sockets: sockets.collect::<io::Result<_>>()?,
            dir: c_string(start.dir.as_os_str())?,
        };
        let mut command = Command::new(start.image);
        command
            .args(&start.arguments)
            .current_dir(start.dir)
            .env_clear()
            .env("TMPDIR", "/dev/shm")
            .env("HOME", "/dev/shm")
            .env("PATH", "/bin")
            .env("AFFLUX_SEED", start.seed.to_string())
            .stdin(Stdio::null())
            .stdout(start.console.try_clone()?)
            .stderr(start.console.try_clone()?);
        // SAFETY: `isolate` makes system calls only, and allocates nothing.
        unsafe { command.pre_exec(move || isolate(&prepared)) };
        let outer = command.spawn()?;
        Ok(Process { outer, life: Some(other) })
    }

    /// Returns whether the guest has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.outer.try_wait(), Ok(None))
    }

    /// Ends all processes of the guest and waits for their end.
    pub fn end(&mut self) {
        self.life = None;
        // The outer process ends on its own once the namespace is empty.
        let _ = self.outer.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Writes all of `bytes` to a file of procfs.
fn write_file(path: &std::ffi::CStr, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the path ends with a zero, and the bytes are valid for their length.
    unsafe {
        let file = checked(libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC))?;
        let count = libc::write(file, bytes.as_ptr().cast(), bytes.len());
        let result = if count < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
        libc::close(file);
        result
    }
}

/// Closes the descriptors from `first` to `last`.
fn close_range(first: u32, last: u32) {
    // SAFETY: takes numbers. Nothing in the calling process uses its descriptors afterwards.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
}

/// Runs between fork and exec of the guest. Returns only in the process that becomes the guest.
fn isolate(prepared: &Prepared) -> io::Result<()> {
    // SAFETY: system calls on numbers and on strings that end with a zero.
    unsafe {
        checked(libc::setsid())?;
        // The descriptors may have these numbers already, in any order, so each is first copied to
        // a number beyond all of them.
        let mut files =
            [(prepared.life, LIFE), (prepared.serial, SERIAL), (prepared.initrd, INITRD)];
        for (from, _) in &mut files {
            *from = checked(libc::fcntl(*from, libc::F_DUPFD_CLOEXEC, INITRD + 1))?;
        }
        for (from, to) in files {
            checked(libc::dup2(from, to))?;
        }
        checked(libc::fcntl(LIFE, libc::F_SETFD, libc::FD_CLOEXEC))?;
        checked(libc::unshare(
            libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWNET | libc::CLONE_NEWIPC,
        ))?;
        write_file(c"/proc/self/setgroups", b"deny")?;
        write_file(c"/proc/self/uid_map", &prepared.uid_map)?;
        write_file(c"/proc/self/gid_map", &prepared.gid_map)?;
        let first = checked(libc::fork())?;
        if first != 0 {
            remove_when_ended(first, prepared);
        }
        mount()?;
        let guest = checked(libc::fork())?;
        if guest != 0 {
            guard(guest);
        }
        // A guest of root is not root either: its program gets no privileges from its user.
        const NOROOT_AND_LOCKED: libc::c_ulong = 0b11;
        checked(libc::prctl(libc::PR_SET_SECUREBITS, NOROOT_AND_LOCKED, 0, 0, 0))?;
        checked(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        checked(libc::setrlimit(libc::RLIMIT_CORE, &raw const none))?;
        checked(libc::personality(libc::ADDR_NO_RANDOMIZE as _))?;
    }
    Ok(())
}

/// Makes all file systems read-only, and mounts an empty one in memory on `/dev/shm`.
fn mount() -> io::Result<()> {
    /// `struct mount_attr` and flags of `linux/mount.h`.
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    const READ_ONLY: u64 = 1;
    const RECURSIVE: libc::c_uint = 0x8000;
    let attributes =
        Attributes { set: READ_ONLY, clear: 0, propagation: libc::MS_PRIVATE, user_namespace: 0 };
    // SAFETY: strings end with a zero, and the attributes outlive the call.
    unsafe {
        checked(libc::unshare(libc::CLONE_NEWNS))?;
        let result = libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            c"/".as_ptr(),
            RECURSIVE,
            &raw const attributes,
            size_of::<Attributes>(),
        );
        checked(result as libc::c_int)?;
        checked(libc::mount(
            c"memory".as_ptr(),
            c"/dev/shm".as_ptr(),
            c"tmpfs".as_ptr(),
            libc::MS_NOSUID | libc::MS_NODEV,
            std::ptr::null(),
        ))?;
    }
    Ok(())
}

/// The outer process: waits for the end of the namespace, then removes the sockets.
fn remove_when_ended(first: libc::pid_t, prepared: &Prepared) -> ! {
    close_range(0, u32::MAX);
    // SAFETY: system calls on numbers and on strings that end with a zero.
    unsafe {
        let mut status = 0;
        while libc::waitpid(first, &raw mut status, 0) < 0
            && *libc::__errno_location() == libc::EINTR
        {}
        for socket in &prepared.sockets {
            libc::unlink(socket.as_ptr());
        }
        libc::rmdir(prepared.dir.as_ptr());
        libc::_exit(0)
    }
}

/// Process 1 of the namespace: ends with the guest, or when the controlling process is gone.
fn guard(guest: libc::pid_t) -> ! {
    // SAFETY: system calls on numbers.
    unsafe {
        close_range(0, LIFE as u32 - 1);
        close_range(LIFE as u32 + 1, u32::MAX);
        let watched = libc::syscall(libc::SYS_pidfd_open, guest, 0) as RawFd;
        let one = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut polled = [one(LIFE), one(watched)];
        while libc::poll(polled.as_mut_ptr(), 2, -1) < 0 {}
        libc::_exit(0)
    }
}

/// Returns an empty file that has no name and vanishes with its last descriptor.
pub fn unnamed(name: &std::ffi::CStr) -> io::Result<File> {
    // SAFETY: takes a string that ends with a zero, and returns a descriptor of this process.
    unsafe {
        let fd = checked(libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC))?;
        Ok(File::from(OwnedFd::from_raw_fd(fd)))
    }
}

/// Makes a directory for sockets, which only this user can enter.
pub fn new_directory() -> io::Result<PathBuf> {
    let base = std::env::temp_dir();
    let template = base.join("afflux-XXXXXX");
    let mut bytes = c_string(template.as_os_str())?.into_bytes_with_nul();
    // SAFETY: the bytes end with a zero, and mkdtemp changes them in place.
    if unsafe { libc::mkdtemp(bytes.as_mut_ptr().cast()) }.is_null() {
        let error = io::Error::last_os_error();
        return Err(io::Error::other(format!(
            "no directory for sockets in {}: {error}",
            base.display()
        )));
    }
    bytes.pop();
    Ok(PathBuf::from(OsStr::from_bytes(&bytes)))
}
