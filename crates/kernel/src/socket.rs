//! Unix sockets: whole messages, and messages with file descriptors.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Room for the descriptors of one message.
const CONTROL_WORDS: usize = 16;

fn checked(result: isize) -> io::Result<usize> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as usize) }
}

/// Sends all of `bytes`.
pub fn send(to: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    let mut sent = 0;
    while sent < bytes.len() {
        let left = &bytes[sent..];
        // SAFETY: `left` is valid for its length.
        let count = unsafe {
            libc::send(to.as_raw_fd(), left.as_ptr().cast(), left.len(), libc::MSG_NOSIGNAL)
        };
        match checked(count) {
            Ok(count) => sent += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Fills `bytes`. An end of the stream is an error.
pub fn receive(from: &OwnedFd, bytes: &mut [u8]) -> io::Result<()> {
    receive_with(from, bytes, &mut Vec::new())
}

/// Fills `bytes`, and appends the descriptors that come with them.
pub fn receive_with(from: &OwnedFd, bytes: &mut [u8], fds: &mut Vec<OwnedFd>) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        let left = &mut bytes[filled..];
        let mut piece = libc::iovec { iov_base: left.as_mut_ptr().cast(), iov_len: left.len() };
        let mut control = [0u64; CONTROL_WORDS];
        // SAFETY: an all-zero `msghdr` is valid, and the buffers outlive the call.
        let count = unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = &raw mut piece;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&control) as _;
            let count = libc::recvmsg(from.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC);
            if count > 0 {
                take_descriptors(&message, fds);
            }
            count
        };
        match checked(count) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// # Safety
/// `message` was filled by `recvmsg`, and its control buffer is still valid.
unsafe fn take_descriptors(message: &libc::msghdr, fds: &mut Vec<OwnedFd>) {
    // SAFETY: the macros of libc stay inside the control buffer, and the kernel made the descriptors
    // for this process.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(message);
        if header.is_null()
            || (*header).cmsg_level != libc::SOL_SOCKET
            || (*header).cmsg_type != libc::SCM_RIGHTS
        {
            return;
        }
        let bytes = (*header).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
        let first = libc::CMSG_DATA(header).cast::<RawFd>();
        for index in 0..bytes / size_of::<RawFd>() {
            fds.push(OwnedFd::from_raw_fd(first.add(index).read_unaligned()));
        }
    }
}

/// Sends `bytes` together with descriptors.
pub fn send_with(to: &OwnedFd, bytes: &[u8], fds: &[RawFd]) -> io::Result<()> {
    let mut piece =
        libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut control = [0u64; CONTROL_WORDS];
    // SAFETY: an all-zero `msghdr` is valid, the buffers outlive the call, and the descriptors fit
    // into the control buffer.
    let count = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of_val(fds) as u32) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of_val(fds) as u32) as _;
        std::ptr::copy_nonoverlapping(
            fds.as_ptr(),
            libc::CMSG_DATA(header).cast::<RawFd>(),
            fds.len(),
        );
        libc::sendmsg(to.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
    };
    checked(count).map(|_| ())
}

/// Waits until one of `fds` is readable or `milliseconds` have passed (-1: without limit). Returns
/// whether each is readable or closed; all `false` after a time-out.
pub fn readable<const N: usize>(fds: [RawFd; N], milliseconds: i32) -> io::Result<[bool; N]> {
    let mut polled = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    poll(&mut polled, milliseconds)?;
    Ok(polled.map(|one| one.revents != 0))
}

/// Waits like [`readable`] for any number of descriptors. Returns the number of ready ones.
pub fn poll(polled: &mut [libc::pollfd], milliseconds: i32) -> io::Result<usize> {
    loop {
        // SAFETY: the slice is valid for its length.
        let count =
            unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as _, milliseconds) as isize };
        match checked(count) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
