//! Packets of kernels that are inside the simulated network, by token.

use super::received::FlowKey;
use std::sync::Mutex;

/// A frame in the network, the virtual time in ns at which it was sent, and its flow.
#[derive(Debug, Default, Clone)]
pub struct Stored {
    pub frame: Vec<u8>,
    pub sent: u64,
    pub flow: Option<FlowKey>,
}

#[derive(Debug, Default)]
struct Slots {
    stored: Vec<Stored>,
    free: Vec<u32>,
}

/// Shared by the workers. Tokens have no influence on results.
#[derive(Debug, Default)]
pub struct Store(Mutex<Slots>);

impl Store {
    fn slots(&self) -> std::sync::MutexGuard<'_, Slots> {
        self.0.lock().expect("no worker panics while it holds this lock")
    }

    pub fn put(&self, stored: Stored) -> u32 {
        let mut slots = self.slots();
        match slots.free.pop() {
            Some(token) => {
                slots.stored[token as usize] = stored;
                token
            }
            None => {
                slots.stored.push(stored);
                slots.stored.len() as u32 - 1
            }
        }
    }

    /// Lets `read` look at a frame.
    pub fn look<T>(&self, token: u32, read: impl FnOnce(&[u8]) -> T) -> T {
        read(&self.slots().stored[token as usize].frame)
    }

    pub fn take(&self, token: u32) -> Stored {
        let mut slots = self.slots();
        slots.free.push(token);
        std::mem::take(&mut slots.stored[token as usize])
    }
}
