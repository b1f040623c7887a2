//! `[[topology.override]]` and `[[topology.fault]]`.

use super::builder::{check_delay, delay, wrong_rate};
use super::names::Names;
use crate::document::{Duration, Fault, LinkOverride};
use crate::tree::{Key, Wrong};
use crate::validate::fill;
use afflux_net::routing::Ports;
use afflux_net::spec::{Down, LinkId, Topology};
use afflux_units::{Probability, Span, Time};

pub fn apply(topology: &mut Topology, overrides: &mut [LinkOverride], faults: &mut [Fault], key: &Key) -> Result<(), Wrong> {
    let ports = Ports::new(topology);
    for (index, change) in overrides.iter_mut().enumerate() {
        let key = key.clone().name("override").index(index);
        let links = meant(topology, &ports, &change.link.0, &key)?;
        if change.rate.is_none() && change.delay.is_none() {
            return Err(Wrong::at(key, "nothing is changed: write rate or delay"));
        }
        if let Some(message) = change.rate.as_ref().and_then(|rate| wrong_rate(rate.0)) {
            return Err(Wrong::at(key.name("rate"), format!("{message}; one that is down is a [[topology.fault]]")));
        }
        if change.delay.is_some() {
            delay(&mut change.delay, Span::ZERO, key.name("delay"))?;
        }
        for link in links {
            let link = &mut topology.links[link as usize];
            link.rate = change.rate.map_or(link.rate, |rate| rate.0);
            link.delay = change.delay.map_or(link.delay, |delay| delay.0);
        }
    }
    for (index, fault) in faults.iter_mut().enumerate() {
        let key = key.clone().name("fault").index(index);
        let links = meant(topology, &ports, &fault.link.0, &key)?;
        if fault.loss.is_none() && fault.down.is_empty() {
            return Err(Wrong::at(key, "nothing is wrong with the link: write loss or down"));
        }
        let down = intervals(fault, &key)?;
        for link in links {
            let link = &mut topology.links[link as usize];
            if let Some(loss) = fault.loss {
                link.loss = loss.0;
            }
            link.down.extend(&down);
            link.down.sort_by_key(|down| down.from);
            if link.down.windows(2).any(|pair| pair[0].to.is_none_or(|to| to > pair[1].from)) {
                let ends = [link.a, link.b].map(|node| topology.nodes[node as usize].name.as_str());
                let message = format!("the times at which \"{}-{}\" is down overlap", ends[0], ends[1]);
                return Err(Wrong::at(key.name("down"), message));
            }
        }
    }
    if let Some(link) = topology.links.iter().find(|link| link.loss == Probability::ONE) {
        let ends = [link.a, link.b].map(|node| topology.nodes[node as usize].name.as_str());
        let message = format!("\"{}-{}\" loses every frame: write a probability below 1, or down = [{{ from = \"0s\" }}]", ends[0], ends[1]);
        return Err(Wrong::at(key.clone(), message));
    }
    Ok(())
}

fn meant(topology: &Topology, ports: &Ports, texts: &[String], key: &Key) -> Result<Vec<LinkId>, Wrong> {
    let names = Names::of(topology);
    let mut links = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let key = if texts.len() == 1 { key.clone().name("link") } else { key.clone().name("link").index(index) };
        links.extend(names.links(text, '-', ports).map_err(|message| Wrong::at(key, message))?.into_iter().map(|(link, _)| link));
    }
    links.sort_unstable();
    links.dedup();
    Ok(links)
}

fn intervals(fault: &mut Fault, key: &Key) -> Result<Vec<Down>, Wrong> {
    let mut down = Vec::new();
    for (index, written) in fault.down.iter_mut().enumerate() {
        let key = key.clone().name("down").index(index);
        let from = written.from.0;
        if let Some(to) = written.to
            && to.0 <= from
        {
            return Err(Wrong::at(key.name("to"), format!("\"{}\" is not after from = \"{from}\"", to.0)));
        }
        let detect = fill(&mut written.detect, Duration(Span::ZERO)).0;
        if detect != Span::ZERO {
            check_delay(detect, key.name("detect"))?;
        }
        down.push(Down { from: Time(from.0), to: written.to.map(|to| Time(to.0.0)), detect });
    }
    Ok(down)
}
