//! `[[topology.override]]` and `[[topology.fault]]`: changes to single links.

use super::builder::{check_delay, link_delay, wrong_rate};
use super::names::Names;
use super::written::{Fault, LinkOverride};
use afflux_config::keys::{at_most_160_h, fill};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Size};
use afflux_net::routing::Ports;
use afflux_net::spec::{Down, LinkId, Topology};
use afflux_units::{Probability, Span, Time};

/// Applies overrides and faults to the links. `frame`: bytes of a frame outside its IP packet, and
/// the smallest packet size.
pub fn apply(
    topology: &mut Topology,
    overrides: &mut [LinkOverride],
    faults: &mut [Fault],
    frame: (u16, u16),
    key: &Key,
) -> Result<(), Wrong> {
    let ports = Ports::new(topology);
    for (index, change) in overrides.iter_mut().enumerate() {
        let key = key.clone().name("override").index(index);
        let links = meant(topology, &ports, &change.link.0, &key)?;
        if change.rate.is_none() && change.delay.is_none() && change.mtu.is_none() {
            return Err(Wrong::at(key, "nothing is changed: write rate, delay or mtu"));
        }
        if let Some(message) = change.rate.as_ref().and_then(|rate| wrong_rate(rate.0)) {
            return Err(Wrong::at(
                key.name("rate"),
                format!("{message}; one that is down is a [[topology.fault]]"),
            ));
        }
        if let Some(delay) = change.delay {
            link_delay(delay, key.clone().name("delay"))?;
        }
        let longest =
            change.mtu.map(|mtu| longest(mtu, frame, key.clone().name("mtu"))).transpose()?;
        let one_way = links.iter().any(|(_, direction)| direction.is_some());
        for (name, given) in [("delay", change.delay.is_some()), ("mtu", change.mtu.is_some())] {
            if one_way && given {
                return Err(Wrong::at(
                    key.name(name),
                    "is one for both directions: write the link with - instead of >",
                ));
            }
        }
        for (link, direction) in links {
            let link = &mut topology.links[link as usize];
            if let Some(rate) = change.rate {
                match direction {
                    None => (link.rate, link.rate_back) = (rate.0, None),
                    Some(false) => (link.rate, link.rate_back) = (rate.0, Some(link.rate_of(true))),
                    Some(true) => link.rate_back = Some(rate.0),
                }
            }
            link.longest = longest.or(link.longest);
            link.delay = change.delay.map_or(link.delay, |delay| delay.0);
        }
    }
    for (index, fault) in faults.iter_mut().enumerate() {
        let key = key.clone().name("fault").index(index);
        let links = meant(topology, &ports, &fault.link.0, &key)?;
        if fault.loss.is_some_and(|loss| loss.0 == Probability::ONE) {
            let message = "the link loses every frame: write a probability below 1, or down = [{ from = \"0s\" }]";
            return Err(Wrong::at(key.name("loss"), message));
        }
        if fault.loss.is_none() && fault.down.is_empty() {
            return Err(Wrong::at(key, "nothing is wrong with the link: write loss or down"));
        }
        let down = intervals(fault, &key)?;
        if !down.is_empty() && links.iter().any(|(_, direction)| direction.is_some()) {
            return Err(Wrong::at(
                key.name("down"),
                "a link is down in both directions: write it with - instead of >",
            ));
        }
        for (link, direction) in links {
            let link = &mut topology.links[link as usize];
            if let Some(loss) = fault.loss {
                // A frame passes if no fault of the link loses it.
                let [there, back] = [false, true].map(|back| {
                    let others = link.loss_of(back);
                    if direction.is_none_or(|direction| direction == back) {
                        others.or(loss.0)
                    } else {
                        others
                    }
                });
                (link.loss, link.loss_back) = (there, (back != there).then_some(back));
            }
            link.down.extend(&down);
            link.down.sort_by_key(|down| down.from);
            if link.down.windows(2).any(|pair| pair[0].to.is_none_or(|to| to > pair[1].from)) {
                let ends = [link.a, link.b].map(|node| topology.nodes[node as usize].name.as_str());
                let message =
                    format!("the times at which \"{}-{}\" is down overlap", ends[0], ends[1]);
                return Err(Wrong::at(key.name("down"), message));
            }
        }
    }
    Ok(())
}

/// Returns the links that `texts` name. The direction is `None` if the text does not name one
/// (`>`), and otherwise `Some(true)` if it is from `Link::b`.
fn meant(
    topology: &Topology,
    ports: &Ports,
    texts: &[String],
    key: &Key,
) -> Result<Vec<(LinkId, Option<bool>)>, Wrong> {
    let names = Names::of(topology);
    if texts.is_empty() {
        return Err(Wrong::at(key.clone().name("link"), "[] is no link: write at least one"));
    }
    let mut links = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let key = if texts.len() == 1 {
            key.clone().name("link")
        } else {
            key.clone().name("link").index(index)
        };
        let one_way = text.contains('>');
        let found = names
            .links(text, if one_way { '>' } else { '-' }, ports)
            .map_err(|message| Wrong::at(key, message))?;
        links.extend(found.into_iter().map(|(link, reverse)| (link, one_way.then_some(reverse))));
    }
    links.sort_unstable();
    links.dedup();
    Ok(links)
}

/// Returns the longest frame in bytes on a link with this MTU. `around`: bytes of a frame outside
/// its IP packet, and the smallest useful packet size.
pub fn longest(Size(mtu): Size, around: (u16, u16), key: Key) -> Result<u16, Wrong> {
    let (link_header, least) = around;
    match u16::try_from(mtu.0 + u64::from(link_header)) {
        Ok(longest) if mtu.0 >= least.into() => Ok(longest),
        _ => Err(Wrong::at(
            key,
            format!("\"{mtu}\": write a packet size from {least}B to {}B", u16::MAX - link_header),
        )),
    }
}

fn intervals(fault: &mut Fault, key: &Key) -> Result<Vec<Down>, Wrong> {
    let mut down = Vec::new();
    for (index, written) in fault.down.iter_mut().enumerate() {
        let key = key.clone().name("down").index(index);
        let from = at_most_160_h(written.from, key.clone().name("from"))?;
        let at_to = || key.clone().name("to");
        let to = written.to.map(|to| at_most_160_h(to, at_to())).transpose()?;
        if let Some(to) = to.filter(|to| *to <= from) {
            return Err(Wrong::at(at_to(), format!("\"{to}\" is not after from = \"{from}\"")));
        }
        let detect = fill(&mut written.detect, Duration(Span::ZERO)).0;
        if detect != Span::ZERO {
            check_delay(detect, key.clone().name("detect"))?;
        }
        let converge = fill(&mut written.converge, Duration(Span::ZERO)).0;
        if converge != Span::ZERO {
            check_delay(converge, key.name("converge"))?;
        }
        down.push(Down { from: Time(from.0), to: to.map(|to| Time(to.0)), detect, converge });
    }
    Ok(down)
}
