//! `[host.transport]` and `[host.transports.NAME]`: resolves the transports of the scenario.

use crate::document::Host;
use crate::topology::Facts;
use crate::wire::Frames;
use afflux_config::spelling;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{TransportConfig, TransportKeys};
use afflux_net::transports::{KeyContext, Tcp};
use afflux_units::Span;

/// Transports of the scenario. The named ones come first, `"default"` at index 0. Behind them are
/// transports without a name, such as variants of a named one.
pub struct Transports {
    names: Vec<String>,
    pub configs: Vec<TransportConfig>,
    /// For each transport without a name, the index of the named one that it derives from; `None`
    /// if it derives from none.
    origins: Vec<Option<u16>>,
}

impl Transports {
    pub fn find(&self, name: &str, key: Key) -> Result<u16, Wrong> {
        let names = self.names.iter().map(String::as_str);
        let found = names.clone().position(|known| known == name);
        found.map(|index| index as u16).ok_or_else(|| {
            let more = if self.names.len() == 1 {
                "; others are defined in [host.transports.NAME]"
            } else {
                ""
            };
            Wrong::at(
                key,
                format!(
                    "there is no transport \"{name}\"{}: write {}{more}",
                    spelling::suggestion(name, names.clone()),
                    spelling::list(names)
                ),
            )
        })
    }
    /// Returns the index of `config`, which is added if it is new. `of` is the named transport that
    /// it is a variant of.
    pub fn add(&mut self, config: TransportConfig, of: Option<u16>) -> u16 {
        let index = self.configs.iter().position(|known| *known == config).unwrap_or_else(|| {
            self.configs.push(config);
            self.origins.push(of);
            self.configs.len() - 1
        });
        index as u16
    }
    /// Returns the named transport that this one is or derives from.
    pub fn origin(&self, index: u16) -> Option<u16> {
        match usize::from(index).checked_sub(self.names.len()) {
            None => Some(index),
            Some(behind) => self.origins[behind],
        }
    }
    /// Returns the indices and keys of the transports in `[host.transport]` and
    /// `[host.transports]`.
    pub fn named(&self) -> impl Iterator<Item = (u16, Key)> {
        let key = |(index, name): (usize, &String)| match index {
            0 => (0, Key::from("host.transport")),
            _ => (index as u16, Key::from("host.transports").name(name)),
        };
        self.names.iter().enumerate().map(key)
    }
}

pub fn check(host: &mut Host, context: &KeyContext) -> Result<Transports, Wrong> {
    let mut transports =
        Transports { names: vec!["default".into()], configs: Vec::new(), origins: Vec::new() };
    let default = host.transport.get_or_insert_with(|| TransportKeys::Tcp(Tcp::default()));
    transports.configs.push(default.resolve(&Key::from("host.transport"), context)?);
    let key = Key::from("host.transports");
    for (name, transport) in host.transports.iter_mut().flatten() {
        let key = key.clone().name(name);
        if name == "default" {
            return Err(Wrong::at(
                key,
                "the transport \"default\" is [host.transport]: choose another name",
            ));
        }
        if let Some(expected) = afflux_traffic::names::wrong(name) {
            return Err(Wrong::at(
                key,
                format!("{}: write {expected}", afflux_traffic::names::shown(name)),
            ));
        }
        if transports.configs.len() >= 1_000 {
            return Err(Wrong::at(key, "at most 1000 transports are possible"));
        }
        transports.configs.push(transport.resolve(&key, context)?);
        transports.names.push(name.clone());
    }
    Ok(transports)
}

/// Round trip of a full frame and its acknowledgement between the two hosts that are farthest apart, without queues.
pub fn idle_round_trip(host: &Host, frames: &Frames, facts: &Facts) -> Span {
    let hosts = host.nic.delay.map_or(0, |delay| delay.0.0).saturating_mul(4);
    let frame = u64::from(frames.payload)
        + u64::from(frames.wire.data_header)
        + u64::from(frames.wire.ack)
        + 2 * u64::from(frames.wire.gap);
    Span(facts.longest(0).0.saturating_add(facts.longest(frame).0).saturating_add(hosts))
}
