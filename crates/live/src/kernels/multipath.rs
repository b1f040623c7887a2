//! Connections of MPTCP (RFC 8684, version 1), as far as packets show them.
//!
//! A connection belongs to two keys. The handshake of its first subflow (MP_CAPABLE) carries both. A
//! further subflow (MP_JOIN) names the key of the end that it goes to by its token. The data of the
//! connection have sequence numbers of their own: options (DSS) map those of the subflows to them,
//! acknowledge data and show their end (DATA_FIN). Positions count from the initial data sequence
//! number, so that the payload starts at position 1.

use super::received::{FlowKey, Received, position};
use super::segment::{Mapping, Seen, Tuple, reversed};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Key of the end that sends a direction of a connection. It identifies the direction.
pub type Key = u64;

/// Returns the token of a key, and the lower half of the initial data sequence number (RFC 8684
/// §3.1): the first and the last four bytes of the key's hash.
fn derived(key: Key) -> (u32, u32) {
    let hash = Sha256::digest(key.to_be_bytes());
    let word = |at: usize| u32::from_be_bytes(hash[at..at + 4].try_into().expect("four bytes"));
    (word(0), word(28))
}

/// Data that one end has sent. Times are in ns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Data {
    /// Position after the last data, and whether a DATA_FIN says that it is the end.
    pub highest: u64,
    pub ended: bool,
    /// Time from which on everything up to `highest` was acknowledged.
    pub acknowledged: Option<u64>,
}

/// One direction of a connection: what its two ends know of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Direction {
    pub sent: Option<Data>,
    pub received: Option<Received>,
}

/// Connections that one host has seen.
#[derive(Debug, Default)]
pub struct Connections {
    /// Key of the sending end, by the tuple of a subflow's direction.
    keys: BTreeMap<Tuple, Key>,
    peers: BTreeMap<Key, Key>,
    tokens: BTreeMap<u32, Key>,
    /// Latest mapping of each flow.
    mappings: BTreeMap<FlowKey, Mapping>,
    directions: BTreeMap<Key, Direction>,
    /// Key of each flow that is a direction of a subflow.
    of: BTreeMap<FlowKey, Key>,
}

impl Connections {
    /// Takes the keys and the token of a packet of flow `key`.
    fn open(&mut self, key: FlowKey, seen: &Seen) {
        let Some(tcp) = seen.tcp else { return };
        let (forth, back) = (key.0, reversed(key.0));
        if tcp.syn && tcp.acknowledged.is_none() {
            self.keys.remove(&forth);
            self.keys.remove(&back);
        }
        if let Some((own, other)) = tcp.options.keys {
            self.keys.insert(forth, own);
            if let Some(other) = other {
                self.keys.insert(back, other);
                for (one, peer) in [(own, other), (other, own)] {
                    self.peers.insert(one, peer);
                    self.tokens.insert(derived(one).0, one);
                }
            }
        }
        let joined = tcp.options.token.and_then(|token| self.tokens.get(&token));
        if let Some(&other) = joined {
            self.keys.insert(back, other);
            self.keys.insert(forth, self.peers[&other]);
        }
    }

    /// Returns the key of a packet's flow, and the positions of the packet's data. `start`: position
    /// of the payload in the subflow. `near`: position of earlier data.
    fn data(
        &mut self,
        key: FlowKey,
        start: u64,
        seen: &Seen,
        near: impl Fn(&Direction) -> u64,
    ) -> Option<(Key, Option<(u64, u64)>)> {
        self.open(key, seen);
        let own = *self.keys.get(&key.0)?;
        self.of.insert(key, own);
        let options = seen.tcp?.options;
        let first = derived(own).1;
        let mapping = match options.mapping {
            // A DATA_FIN without data maps nothing.
            Some(mapping) if mapping.sequence > 0 => {
                self.mappings.insert(key, mapping);
                Some(mapping)
            }
            // The first data of the first subflow can have MP_CAPABLE instead.
            None if options.keys.is_some() => {
                Some(Mapping { data: first.wrapping_add(1), sequence: 1 })
            }
            _ => self.mappings.get(&key).copied(),
        };
        let direction = self.directions.entry(own).or_default();
        let data = mapping.filter(|_| seen.payload > 0).map(|mapping| {
            let low = mapping.data.wrapping_add((start as u32).wrapping_sub(mapping.sequence));
            let start = position(near(direction).max(1), low.wrapping_sub(first));
            (start, start + seen.payload)
        });
        Some((own, data))
    }

    /// Adds a packet that the host sends.
    pub fn sent(&mut self, key: FlowKey, start: u64, seen: &Seen) {
        let near = |direction: &Direction| direction.sent.as_ref().map_or(1, |sent| sent.highest);
        let Some((own, data)) = self.data(key, start, seen, near) else { return };
        let ends = seen.tcp.is_some_and(|tcp| tcp.options.data_end);
        let direction = self.directions.get_mut(&own).expect("entered by `data`");
        if data.is_none() && !ends {
            return;
        }
        let sent = direction.sent.get_or_insert_default();
        sent.ended |= ends;
        let end = data.map_or(1, |(_, end)| end);
        if end > sent.highest {
            sent.highest = end;
            sent.acknowledged = None;
        }
    }

    /// Adds a packet that has arrived.
    pub fn received(&mut self, at: u64, key: FlowKey, start: u64, seen: &Seen) {
        let near =
            |direction: &Direction| direction.received.as_ref().map_or(1, |received| received.next);
        let Some((own, data)) = self.data(key, start, seen, near) else { return };
        if let Some((start, end)) = data {
            let direction = self.directions.get_mut(&own).expect("entered by `data`");
            direction.received.get_or_insert_with(Received::opened).data(at, start, end);
        }
        let Some(acknowledged) = seen.tcp.and_then(|tcp| tcp.options.data_acknowledged) else {
            return;
        };
        let Some(back) = self.keys.get(&reversed(key.0)) else { return };
        let first = derived(*back).1;
        let Some(sent) = self.directions.get_mut(back).and_then(|back| back.sent.as_mut()) else {
            return;
        };
        if position(sent.highest, acknowledged.wrapping_sub(first)) >= sent.highest {
            sent.acknowledged.get_or_insert(at);
        }
    }

    /// Joins what two hosts have seen of their connections.
    pub fn join(&mut self, other: Connections) {
        self.of.extend(other.of);
        self.peers.extend(other.peers);
        for (key, seen) in other.directions {
            let direction = self.directions.entry(key).or_default();
            direction.sent = seen.sent.or(direction.sent.take());
            direction.received = seen.received.or(direction.received.take());
        }
    }

    /// Returns the directions that carried data, each with its key and the flows of its subflows.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &Direction, Vec<FlowKey>)> {
        let mut flows: BTreeMap<Key, Vec<FlowKey>> = BTreeMap::new();
        for (&flow, &key) in &self.of {
            flows.entry(key).or_default().push(flow);
        }
        let used = |key: &Key| self.directions.get(key).is_some_and(|one| one.sent.is_some());
        // Where neither direction has mapped data, the ends have fallen back to TCP.
        flows
            .into_iter()
            .filter(move |(key, _)| used(key) || self.peers.get(key).is_some_and(used))
            .map(|(key, flows)| (key, &self.directions[&key], flows))
    }

    pub fn peer(&self, key: Key) -> Option<Key> {
        self.peers.get(&key).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::super::segment::{Options, TCP, Tcp};
    use super::*;
    use std::net::Ipv4Addr;

    /// The example of a connection: the client's key and the server's.
    const CLIENT: Key = 0x0102_0304_0506_0708;
    const SERVER: Key = 0x1112_1314_1516_1718;

    fn tuple(nic: u8, forth: bool) -> Tuple {
        let (a, b) = (Ipv4Addr::new(10, nic, 0, 1), Ipv4Addr::new(10, nic, 0, 2));
        if forth {
            (TCP, a, 5 + u16::from(nic), b, 80)
        } else {
            (TCP, b, 80, a, 5 + u16::from(nic))
        }
    }

    fn packet(tuple: Tuple, syn: bool, payload: u64, options: Options) -> Seen {
        let (sequence, acknowledged) = (0, (!syn || tuple.2 == 80).then_some(1));
        let tcp = Tcp { sequence, acknowledged, syn, fin: false, rst: false, options };
        Seen { tuple, payload, tcp: Some(tcp) }
    }

    fn keys(own: Key, other: Option<Key>) -> Options {
        Options { keys: Some((own, other)), ..Options::default() }
    }

    fn mapped(data: u32, sequence: u32) -> Options {
        let data = derived(CLIENT).1.wrapping_add(data);
        Options { mapping: Some(Mapping { data, sequence }), ..Options::default() }
    }

    /// `printf '\x01\x02\x03\x04\x05\x06\x07\x08' | sha256sum` begins with 66840dda and ends with
    /// d29d6f72.
    #[test]
    fn token_and_first_number_are_parts_of_the_hash() {
        assert_eq!(derived(CLIENT), (0x6684_0dda, 0xd29d_6f72));
    }

    /// 100 bytes on the first subflow with MP_CAPABLE, 100 on the second, which arrive earlier than
    /// 50 on the first; then the end, and its acknowledgement.
    #[test]
    fn two_subflows_are_one_connection() {
        let (mut client, mut server) = (Connections::default(), Connections::default());
        let mut pass = |at: u64, start: u64, seen: &Seen| {
            let key = (seen.tuple, 0);
            let (from, to) = if seen.tuple.2 == 80 {
                (&mut server, &mut client)
            } else {
                (&mut client, &mut server)
            };
            from.sent(key, start, seen);
            to.received(at, key, start, seen);
        };
        let first = |forth: bool| tuple(0, forth);
        pass(1, 1, &packet(first(true), true, 0, Options::default()));
        pass(2, 1, &packet(first(false), true, 0, keys(SERVER, None)));
        pass(3, 1, &packet(first(true), false, 100, keys(CLIENT, Some(SERVER))));
        let token = Some(derived(SERVER).0);
        pass(4, 1, &packet(tuple(1, true), true, 0, Options { token, ..Options::default() }));
        pass(5, 1, &packet(tuple(1, false), true, 0, Options::default()));
        pass(6, 1, &packet(tuple(1, true), false, 100, mapped(151, 1)));
        // The second 25 bytes have the mapping of the first.
        pass(8, 101, &packet(first(true), false, 25, mapped(101, 101)));
        pass(9, 126, &packet(first(true), false, 25, Options::default()));
        let end = Options { data_end: true, ..mapped(251, 0) };
        pass(10, 151, &packet(first(true), false, 0, end));
        let acknowledged = Some(derived(CLIENT).1.wrapping_add(252));
        let answer = Options { data_acknowledged: acknowledged, ..Options::default() };
        pass(12, 1, &packet(tuple(1, false), false, 0, answer));
        client.join(server);
        let found: Vec<_> = client.iter().collect();
        let [(to_server, direction, flows), (back, _, acks)] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((*to_server, *back), (CLIENT, SERVER));
        assert_eq!(flows.len(), 2, "{flows:?}");
        assert_eq!(acks.len(), 2, "{acks:?}");
        let sent = Data { highest: 251, ended: true, acknowledged: Some(12) };
        assert_eq!(direction.sent, Some(sent));
        let received = direction.received.as_ref().unwrap();
        assert_eq!((received.next, received.advanced), (251, Some(9)));
        assert_eq!(client.peer(CLIENT), Some(SERVER));
    }

    /// A server without MPTCP answers without a key, and a token can be unknown.
    #[test]
    fn connections_without_both_keys_are_tcp() {
        let mut client = Connections::default();
        client.sent((tuple(0, true), 0), 1, &packet(tuple(0, true), true, 0, Options::default()));
        let answer = packet(tuple(0, false), true, 0, Options::default());
        client.received(2, (answer.tuple, 0), 1, &answer);
        client.sent((tuple(0, true), 0), 1, &packet(tuple(0, true), false, 9, Options::default()));
        let token = Options { token: Some(1), ..Options::default() };
        client.sent((tuple(1, true), 0), 1, &packet(tuple(1, true), true, 0, token));
        assert_eq!(client.iter().count(), 0);
    }
}
