//! Memory that is shared with a guest.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// A mapping of a file that the guest also maps.
#[derive(Debug)]
pub struct Mapping {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the mapping belongs to the process, not to the thread that made it.
unsafe impl Send for Mapping {}

impl Mapping {
    pub fn new(file: &OwnedFd, bytes: usize, offset: u64) -> io::Result<Mapping> {
        // SAFETY: a new shared mapping, which aliases no Rust object.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                offset as libc::off_t,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Mapping { start: start.cast(), bytes })
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the address of `count` bytes at `offset`; `None` if they are not inside.
    fn place(&self, offset: usize, count: usize) -> Option<*mut u8> {
        let end = offset.checked_add(count)?;
        // SAFETY: the range is inside the mapping.
        (end <= self.bytes).then(|| unsafe { self.start.add(offset) })
    }

    /// Reads a value that the guest may change at any time.
    pub fn get<T: Copy>(&self, offset: usize) -> Option<T> {
        let place = self.place(offset, size_of::<T>())?;
        // SAFETY: inside the mapping; volatile, because the guest writes there, too.
        (place.addr() % align_of::<T>() == 0).then(|| unsafe { place.cast::<T>().read_volatile() })
    }

    pub fn put<T: Copy>(&self, offset: usize, value: T) -> Option<()> {
        let place = self.place(offset, size_of::<T>())?;
        // SAFETY: inside the mapping; volatile, because the guest reads there, too.
        (place.addr() % align_of::<T>() == 0)
            .then(|| unsafe { place.cast::<T>().write_volatile(value) })
    }

    /// Appends `count` bytes at `offset` to `to`.
    pub fn read(&self, offset: usize, count: usize, to: &mut Vec<u8>) -> Option<()> {
        let place = self.place(offset, count)?;
        // SAFETY: inside the mapping, and the guest does not run meanwhile.
        to.extend_from_slice(unsafe { std::slice::from_raw_parts(place, count) });
        Some(())
    }

    pub fn write(&self, offset: usize, bytes: &[u8]) -> Option<()> {
        let place = self.place(offset, bytes.len())?;
        // SAFETY: inside the mapping, and the guest does not run meanwhile.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) };
        Some(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this object owns the mapping.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

/// Physical memory of a guest, in pieces by guest address.
#[derive(Debug, Default)]
pub struct GuestMemory(Vec<(u64, Mapping)>);

impl GuestMemory {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn add(&mut self, address: u64, mapping: Mapping) {
        self.0.push((address, mapping));
    }

    fn at(&self, address: u64) -> Option<(&Mapping, usize)> {
        let inside = |(start, mapping): &&(u64, Mapping)| {
            address >= *start && address - *start < mapping.bytes() as u64
        };
        self.0.iter().find(inside).map(|(start, mapping)| (mapping, (address - start) as usize))
    }

    pub fn get<T: Copy>(&self, address: u64) -> Option<T> {
        self.at(address).and_then(|(mapping, offset)| mapping.get(offset))
    }

    pub fn put<T: Copy>(&self, address: u64, value: T) -> Option<()> {
        self.at(address).and_then(|(mapping, offset)| mapping.put(offset, value))
    }

    pub fn read(&self, address: u64, count: usize, to: &mut Vec<u8>) -> Option<()> {
        self.at(address).and_then(|(mapping, offset)| mapping.read(offset, count, to))
    }

    pub fn write(&self, address: u64, bytes: &[u8]) -> Option<()> {
        self.at(address).and_then(|(mapping, offset)| mapping.write(offset, bytes))
    }
}
