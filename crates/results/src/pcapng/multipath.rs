//! MPTCP options (RFC 8684, version 1): authentication of a connection, and data sequence mappings.
//!
//! Simulated hosts do not draw keys. Keys are derived from the run's seed and the flow, so that a
//! capture is reproducible.

use super::side::Side;
use afflux_net::record::{CaptureMultipath, Control};
use sha2::{Digest, Sha256};

const KIND: u8 = 30;
const CAPABLE: u8 = 0x00;
const JOIN: u8 = 0x10;
const DSS: u8 = 0x20;
const VERSION: u8 = 1;
/// Flag H, HMAC-SHA256 (§3.1). Flag A is not set: no checksums.
const HMAC_SHA256: u8 = 0x01;
/// Flags of §3.3: a data sequence number of eight bytes is present; an acknowledgement of four
/// bytes.
const MAPPING: u8 = 0x08 | 0x04;
const ACKNOWLEDGES: u8 = 0x01;

/// Keys of one connection.
pub struct Session {
    seed: u64,
    flow: u32,
    /// Keys of the host that opened the connection, and of the host that answered.
    keys: [[u8; 8]; 2],
}

impl Session {
    pub fn new(seed: u64, flow: u32) -> Session {
        let mut session = Session { seed, flow, keys: [[0; 8]; 2] };
        session.keys = [Side::Asks, Side::Answers].map(|side| session.drawn(b"key", 0, side));
        session
    }

    fn drawn<const N: usize>(&self, what: &[u8], subflow: u8, side: Side) -> [u8; N] {
        let mut hash = Sha256::new();
        hash.update(what);
        hash.update(self.seed.to_be_bytes());
        hash.update(self.flow.to_be_bytes());
        hash.update([subflow, side as u8]);
        first(&hash.finalize())
    }

    fn key(&self, side: Side) -> [u8; 8] {
        self.keys[side as usize]
    }

    /// Returns the token: the most significant 32 bits of the key's hash (§3.2).
    fn token(&self, side: Side) -> [u8; 4] {
        first(&Sha256::digest(self.key(side)))
    }

    /// Returns the sequence number of the first data byte. It follows the initial data sequence
    /// number, which is the least significant 64 bits of the key's hash (§3.1).
    fn first_byte(&self, side: Side) -> u64 {
        u64::from_be_bytes(first(&Sha256::digest(self.key(side))[24..])).wrapping_add(1)
    }

    /// Returns the HMAC (§3.2), keyed with the side's own key and the other side's key, over its
    /// own and the other side's random number.
    fn hmac(&self, subflow: u8, side: Side) -> [u8; 32] {
        let other = side.other();
        let nonce = |side| self.drawn::<4>(b"nonce", subflow, side);
        hmac_sha256(
            &[self.key(side), self.key(other)].concat(),
            &[nonce(side), nonce(other)].concat(),
        )
    }

    /// Appends the option of a segment that opens or joins a connection (§3.1, §3.2). The fourth
    /// segment and the last one of a subflow carry none.
    pub fn opening(
        &self,
        out: &mut Vec<u8>,
        control: Control,
        side: Side,
        multipath: &CaptureMultipath,
    ) {
        let number = multipath.subflow;
        let nonce = self.drawn::<4>(b"nonce", number, side);
        let start = out.len();
        out.extend([KIND, 0]);
        match (control, side, number) {
            _ if multipath.closes => return out.truncate(start),
            (Control::Syn, _, 0) => out.extend([CAPABLE | VERSION, HMAC_SHA256]),
            (Control::SynAck, _, 0) => {
                out.extend([CAPABLE | VERSION, HMAC_SHA256]);
                out.extend(self.key(Side::Answers));
            }
            (Control::Ack, Side::Asks, 0) => {
                out.extend([CAPABLE | VERSION, HMAC_SHA256]);
                out.extend(self.keys.concat());
            }
            (Control::Syn, _, _) => {
                out.extend([JOIN, number]);
                out.extend(self.token(Side::Answers));
                out.extend(nonce);
            }
            (Control::SynAck, _, _) => {
                out.extend([JOIN, number]);
                out.extend(&self.hmac(number, side)[..8]);
                out.extend(nonce);
            }
            (Control::Ack, Side::Asks, _) => {
                out.extend([JOIN, 0]);
                out.extend(&self.hmac(number, side)[..20]);
            }
            (Control::Ack | Control::AskWindow | Control::Report, _, _) => {
                return out.truncate(start);
            }
        }
        out[start + 1] = (out.len() - start) as u8;
    }

    /// Appends a data sequence mapping (§3.3): `payload` bytes at `data` of the connection are at
    /// `sequence` of the subflow. It acknowledges that no data has arrived from the other side.
    pub fn mapping(&self, out: &mut Vec<u8>, data: u64, sequence: u32, payload: u16) {
        out.extend([KIND, 22, DSS, MAPPING | ACKNOWLEDGES]);
        out.extend((self.first_byte(Side::Answers) as u32).to_be_bytes());
        out.extend(self.first_byte(Side::Asks).wrapping_add(data).to_be_bytes());
        // Relative to the subflow's initial sequence number, which the SYN had.
        out.extend(sequence.wrapping_add(1).to_be_bytes());
        out.extend(payload.to_be_bytes());
    }

    /// Appends an acknowledgement (§3.3) of all data before `data`.
    pub fn acknowledgement(&self, out: &mut Vec<u8>, data: u64) {
        out.extend([KIND, 8, DSS, ACKNOWLEDGES]);
        out.extend((self.first_byte(Side::Asks).wrapping_add(data) as u32).to_be_bytes());
    }
}

fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes[..N].try_into().expect("a hash is longer")
}

/// Returns the HMAC of RFC 2104 for a key that is not longer than a block.
pub fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    const BLOCK: usize = 64;
    let mut padded = [0; BLOCK];
    padded[..key.len()].copy_from_slice(key);
    let inner =
        Sha256::new().chain_update(padded.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(padded.map(|byte| byte ^ 0x5C)).chain_update(inner).finalize().into()
}
