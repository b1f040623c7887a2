//! The command: in the first host's network namespace, and in a process namespace of its own, so that whatever it starts ends with it, and it with us.
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
    /// Closed when we end, however that is.
    _alive: io::PipeWriter,
}

/// What the processes in between need; made before they are, since a process that was forked beside threads must not allocate.
struct Prepared {
    network: RawFd,
    parent: u32,
    /// Both ends of the pipe.
    alive: RawFd,
    held: RawFd,
    /// Descriptors that the first process of the namespace keeps for everybody in it, ascending.
    kept: Vec<RawFd>,
    root: CString,
    proc: CString,
    procfs: CString,
    sys: CString,
    sysfs: CString,
}

/// Starts `words` in the first of `hosts`. It finds the others by its environment.
pub fn start(words: &[String], hosts: &[Host]) -> Result<Command, LiveError> {
    let [program, arguments @ ..] = words else { unreachable!("there is a command") };
    let (reader, writer) = io::pipe().map_err(LiveError::system("making a pipe"))?;
    let mut kept: Vec<RawFd> = hosts.iter().filter_map(|host| Some(host.namespace.as_ref()?.as_raw_fd())).collect();
    let Some(namespace) = &hosts[0].namespace else {
        return Err(LiveError::Wrong("the command has no host to run in: all real hosts are attached".into()));
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
            command.env(format!("AFFLUX_NETNS_{index}"), format!("/proc/1/fd/{}", namespace.as_raw_fd()));
        }
    }
    // SAFETY: what runs between fork and exec makes system calls with what has been prepared, and neither allocates nor locks.
    unsafe {
        command.pre_exec(move || prepared.enter());
    }
    let child = command.spawn().map_err(|source| match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) if !is_there(program) => {
            LiveError::Lacking { what: NAMESPACES.name, needed_for: NAMESPACES.needed_for, how: NAMESPACES.how, source }
        }
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
    /// In the child: three processes. This one waits for the namespace's first one, which waits for the one that becomes the command.
    fn enter(&self) -> io::Result<()> {
        // SAFETY: system calls with numbers and strings that live in `self`.
        unsafe {
            // Of the thread that started us: it ends when the run does.
            sys::checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0))?;
            if libc::getppid() as u32 != self.parent {
                libc::_exit(1);
            }
            sys::join(self.network, libc::CLONE_NEWNET)?;
            sys::unshare(libc::CLONE_NEWPID | libc::CLONE_NEWNS)?;
            let none = std::ptr::null();
            // What is mounted from here on is seen here only.
            sys::checked(libc::mount(none, self.root.as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()))?;
            let first = sys::checked(libc::fork())?;
            if first != 0 {
                leave_signals_to_the_command();
                close_all_but(&[]);
                exit_as(first);
            }
            sys::checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0))?;
            self.end_if_alone();
            sys::checked(libc::mount(self.procfs.as_ptr(), self.proc.as_ptr(), self.procfs.as_ptr(), 0, none.cast()))?;
            // `/sys/class/net` is of the namespace it was mounted in. It is good to have, no more.
            libc::mount(self.sysfs.as_ptr(), self.sys.as_ptr(), self.sysfs.as_ptr(), 0, none.cast());
            let command = sys::checked(libc::fork())?;
            if command != 0 {
                leave_signals_to_the_command();
                close_all_but(&self.kept);
                exit_as(command);
            }
            // Python ignores it, and what is ignored stays so.
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        }
        Ok(())
    }

    /// The one before us may have died before it could take us along: then nobody holds the pipe any more.
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

/// The terminal's signals go to all of its foreground: what to do about them is the command's business.
///
/// # Safety
/// System calls with numbers.
unsafe fn leave_signals_to_the_command() {
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGTERM] {
        // SAFETY: ignoring a signal touches nothing.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// `kept` is ascending. Standard input and output stay.
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

/// Waits for whatever has become an orphan here, and ends when `child` has, as it has.
///
/// # Safety
/// Only in a process made for it.
unsafe fn exit_as(child: libc::pid_t) -> ! {
    let mut status = 0;
    loop {
        // SAFETY: the status lives across the call.
        let ended = unsafe { libc::waitpid(-1, &mut status, 0) };
        if ended == child {
            // SAFETY: ends the process, as shells report what a signal has ended.
            unsafe { libc::_exit(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) }) }
        }
        // SAFETY: reads a number of this thread.
        if ended < 0 && unsafe { *libc::__errno_location() } == libc::ECHILD {
            // SAFETY: ends the process.
            unsafe { libc::_exit(1) }
        }
    }
}

impl Command {
    /// Can be read once the command is over.
    pub fn watch(&self) -> Result<OwnedFd, LiveError> {
        sys::watch_process(self.child.id()).map_err(LiveError::system("watching the command"))
    }

    /// Its exit status; none if it had to be killed.
    pub fn end(&mut self) -> Result<Option<i32>, LiveError> {
        let failed = || LiveError::system("waiting for the command");
        if let Some(status) = self.child.try_wait().map_err(failed())? {
            return Ok(status.code().or(status.signal().map(|signal| 128 + signal)));
        }
        // Its namespace's first process dies with it, and so everything in there.
        self.child.kill().and_then(|()| self.child.wait()).map_err(failed())?;
        Ok(None)
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        // However the run ended. It may be over already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
