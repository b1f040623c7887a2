//! The command that runs in the first real host. It runs in that host's network namespace and in
//! its own process namespace, so that all processes that it starts end with it, and it ends with
//! afflux.
#![allow(unsafe_code)]

use crate::capability::NAMESPACES;
use crate::host::Host;
use crate::{LiveError, sys};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Child;

#[derive(Debug)]
pub struct Command {
    child: Child,
    /// Write end of a pipe. The kernel closes it when this process ends for any reason.
    _alive: io::PipeWriter,
}

/// Data for the processes between afflux and the command. It is prepared before the fork, because a
/// child forked from a multi-threaded process must not allocate memory.
struct Prepared {
    network: RawFd,
    parent: u32,
    /// Read and write end of the pipe (`held` is the write end).
    alive: RawFd,
    held: RawFd,
    /// Descriptors, ascending, that the first process of the namespace keeps open for all processes
    /// in it.
    kept: Vec<RawFd>,
    root: CString,
    proc: CString,
    procfs: CString,
    sys: CString,
    sysfs: CString,
}

/// Starts `words` in the first of `hosts`. Environment variables tell the command about the other
/// hosts.
pub fn start(words: &[String], hosts: &[Host]) -> Result<Command, LiveError> {
    let [program, arguments @ ..] = words else { unreachable!("there is a command") };
    let (reader, writer) = io::pipe().map_err(LiveError::system("making a pipe"))?;
    let mut kept: Vec<RawFd> =
        hosts.iter().filter_map(|host| Some(host.namespace.as_ref()?.as_raw_fd())).collect();
    let Some(namespace) = &hosts[0].namespace else {
        return Err(LiveError::Wrong(
            "the command has no host to run in: all real hosts are attached".into(),
        ));
    };
    kept.sort_unstable();
    let text = |text: &str| sys::c_string(text).expect("no zero in it");
    let prepared = Prepared {
        network: namespace.as_raw_fd(),
        parent: std::process::id(),
        alive: reader.as_raw_fd(),
        held: writer.as_raw_fd(),
        kept,
        root: text("/"),
        proc: text("/proc"),
        procfs: text("proc"),
        sys: text("/sys"),
        sysfs: text("sysfs"),
    };
    let mut command = std::process::Command::new(program);
    command.args(arguments);
    command.env("AFFLUX_HOST", &hosts[0].name).env("AFFLUX_HOSTS", hosts.len().to_string());
    for (index, host) in hosts.iter().enumerate() {
        let addresses: Vec<String> = host.nics.iter().map(|nic| nic.address.to_string()).collect();
        command.env(format!("AFFLUX_NAME_{index}"), &host.name);
        command.env(format!("AFFLUX_ADDRESS_{index}"), &addresses[0]);
        command.env(format!("AFFLUX_ADDRESSES_{index}"), addresses.join(" "));
        if let Some(namespace) = &host.namespace {
            command.env(
                format!("AFFLUX_NETNS_{index}"),
                format!("/proc/1/fd/{}", namespace.as_raw_fd()),
            );
        }
    }
    // SAFETY: between fork and exec, `enter` only makes system calls with prepared data. It neither
    // allocates nor locks.
    unsafe {
        command.pre_exec(move || prepared.enter());
    }
    let child = command.spawn().map_err(|source| match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) if !is_there(program) => LiveError::Lacking {
            what: NAMESPACES.name,
            needed_for: NAMESPACES.needed_for,
            how: NAMESPACES.how,
            source,
        },
        Some(libc::ENOENT) => LiveError::Wrong(format!("{program}: there is no such command")),
        _ => LiveError::System { doing: format!("starting {program}"), source },
    })?;
    drop(reader);
    Ok(Command { child, _alive: writer })
}

fn is_there(program: &str) -> bool {
    program.contains('/') && File::open(program).is_ok()
}

impl Prepared {
    /// Runs in the child and creates two more processes. The child waits for the first process of
    /// the namespace, which waits for the process that becomes the command.
    fn enter(&self) -> io::Result<()> {
        // SAFETY: system calls with numbers and strings that live in `self`.
        unsafe {
            // The signal is sent when the parent thread ends. The parent thread lives as long as
            // the run.
            sys::checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0))?;
            if libc::getppid() as u32 != self.parent {
                libc::_exit(1);
            }
            sys::join(self.network, libc::CLONE_NEWNET)?;
            sys::unshare(libc::CLONE_NEWPID | libc::CLONE_NEWNS)?;
            let none = std::ptr::null();
            // Mounts from here on are visible in this namespace only.
            sys::checked(libc::mount(
                none,
                self.root.as_ptr(),
                none,
                libc::MS_REC | libc::MS_PRIVATE,
                none.cast(),
            ))?;
            let first = sys::checked(libc::fork())?;
            if first != 0 {
                leave_signals_to_the_command();
                close_all_but(&[]);
                exit_as(first);
            }
            sys::checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0))?;
            self.end_if_alone();
            sys::checked(libc::mount(
                self.procfs.as_ptr(),
                self.proc.as_ptr(),
                self.procfs.as_ptr(),
                0,
                none.cast(),
            ))?;
            // `/sys/class/net` shows the network namespace in which it was mounted. This mount is
            // optional, so its failure is ignored.
            libc::mount(
                self.sysfs.as_ptr(),
                self.sys.as_ptr(),
                self.sysfs.as_ptr(),
                0,
                none.cast(),
            );
            let command = sys::checked(libc::fork())?;
            if command != 0 {
                leave_signals_to_the_command();
                close_all_but(&self.kept);
                exit_as(command);
            }
            // Python ignores SIGPIPE, and ignored signals stay ignored across exec.
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        }
        Ok(())
    }

    /// Exits if the parent has died before PR_SET_PDEATHSIG took effect: then no process holds the
    /// write end of the pipe.
    ///
    /// # Safety
    /// In a process that has its own copy of the pipe.
    unsafe fn end_if_alone(&self) {
        let mut pipe = libc::pollfd { fd: self.alive, events: 0, revents: 0 };
        // SAFETY: takes a number; the structure lives across the call.
        unsafe {
            libc::close(self.held);
            if libc::poll(&mut pipe, 1, 0) > 0 && pipe.revents & libc::POLLHUP != 0 {
                libc::_exit(1);
            }
        }
    }
}

/// Ignores the terminal's signals, which reach all foreground processes. The command decides how to
/// react to them.
///
/// # Safety
/// System calls with numbers.
unsafe fn leave_signals_to_the_command() {
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGTERM] {
        // SAFETY: ignoring a signal touches nothing.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Closes all descriptors except standard input, output and error and `kept`, which is ascending.
///
/// # Safety
/// The process uses no other descriptor afterwards.
unsafe fn close_all_but(kept: &[RawFd]) {
    let mut from: libc::c_uint = 0;
    for &descriptor in kept {
        let descriptor = descriptor as libc::c_uint;
        if descriptor > from {
            // SAFETY: takes numbers.
            unsafe { libc::syscall(libc::SYS_close_range, from.max(3), descriptor - 1, 0) };
        }
        from = descriptor + 1;
    }
    // SAFETY: takes numbers.
    unsafe { libc::syscall(libc::SYS_close_range, from.max(3), libc::c_uint::MAX, 0) };
}

/// Reaps all orphans of this namespace, and exits with the status of `child` when `child` has
/// ended.
///
/// # Safety
/// Only in a process made for it.
unsafe fn exit_as(child: libc::pid_t) -> ! {
    let mut status = 0;
    loop {
        // SAFETY: the status lives across the call.
        let ended = unsafe { libc::waitpid(-1, &mut status, 0) };
        if ended == child {
            // SAFETY: ends the process. The status follows the shell convention of 128 + signal.
            unsafe {
                libc::_exit(if libc::WIFEXITED(status) {
                    libc::WEXITSTATUS(status)
                } else {
                    128 + libc::WTERMSIG(status)
                })
            }
        }
        // SAFETY: reads a number of this thread.
        if ended < 0 && unsafe { *libc::__errno_location() } == libc::ECHILD {
            // SAFETY: ends the process.
            unsafe { libc::_exit(1) }
        }
    }
}

impl Command {
    /// Returns a descriptor that becomes readable when the command has ended.
    pub fn watch(&self) -> Result<OwnedFd, LiveError> {
        sys::watch_process(self.child.id()).map_err(LiveError::system("watching the command"))
    }

    /// Ends the command and returns its exit status. `None` if the command had to be killed.
    pub fn end(&mut self) -> Result<Option<i32>, LiveError> {
        let failed = || LiveError::system("waiting for the command");
        if let Some(status) = self.child.try_wait().map_err(failed())? {
            return Ok(status.code().or(status.signal().map(|signal| 128 + signal)));
        }
        // The first process of its namespace dies with the command, and the kernel then kills all
        // others in it.
        self.child.kill().and_then(|()| self.child.wait()).map_err(failed())?;
        Ok(None)
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        // Runs on every exit path. The command may already have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
