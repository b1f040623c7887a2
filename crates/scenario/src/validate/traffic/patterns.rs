//! `kind = "incast"`, `"permutation"`, `"pairs"`, `"all_to_all"` and `"datagram"`: resolves them.

use super::common::{self, shared};
use super::context::{Offer, TrafficContext};
use super::offered::framing;
use super::{select, sizes};
use crate::document::{
    self, AllToAll, DatagramSource, HostItem, Hosts, Incast, Pairs, Permutation, Receivers, Senders,
};
use afflux_config::keys::{fill, meaningless};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Or, Size};
use afflux_net::spec::{Start, TransportConfig};
use afflux_net::transports::Datagram;
use afflux_traffic::{Bulk, Classes, ConstantRate, Generated, IncastSize, Loop, Stagger};
use afflux_units::{Span, Time};

pub fn all() -> Hosts {
    Hosts(vec![HostItem::Text("all".into())])
}

/// Returns the time that a request takes from one host to another: as written, or the longest path
/// delay of the fabric.
fn request_delay(
    slot: &mut Option<Duration>,
    key: &Key,
    context: &TrafficContext,
) -> Result<Span, Wrong> {
    let delay = fill(slot, Duration(context.facts.longest(0))).0;
    let least = context.facts.shortest_link();
    if delay < least {
        return Err(Wrong::at(
            key.clone().name("request_delay"),
            format!(
                "\"{delay}\" is below the shortest link delay of the fabric: write at least \"{least}\""
            ),
        ));
    }
    Ok(delay)
}

pub fn incast(
    incast: &mut Incast,
    index: usize,
    key: &Key,
    classes: &mut Classes,
    context: &mut TrafficContext,
) -> Result<Generated, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let mut transport = incast.transport.take();
    let shared = shared(incast.common(), Some(&mut transport), index, key, classes, context)?;
    incast.transport = transport;
    let hosts = select::hosts(&fill(&mut incast.hosts, all()), &at("hosts"), context.facts)?;
    let receiver = match fill(&mut incast.to, Receivers(Hosts(vec![HostItem::Number(0)]))).0 {
        Hosts(items) if items == [HostItem::Text("random".into())] => {
            afflux_traffic::Receiver::Random
        }
        to => afflux_traffic::Receiver::These(select::hosts(&to, &at("to"), context.facts)?),
    };
    let takes_part = match &receiver {
        afflux_traffic::Receiver::These(to) => to.iter().any(|to| hosts.contains(to)),
        afflux_traffic::Receiver::Random => true,
    };
    let random = fill(&mut incast.random_senders, false);
    let everybody = incast.senders.is_none() && !random;
    let senders = match fill(
        &mut incast.senders,
        Senders::Count((hosts.len() - usize::from(takes_part)) as u32),
    ) {
        _ if everybody => afflux_traffic::Senders::These(hosts.clone()),
        Senders::These(_) if random => {
            return Err(Wrong::at(
                at("senders"),
                "with random_senders = true write the number of senders",
            ));
        }
        Senders::These(hosts) => {
            afflux_traffic::Senders::These(select::hosts(&hosts, &at("senders"), context.facts)?)
        }
        Senders::Count(count) if random => afflux_traffic::Senders::Random(count),
        Senders::Count(count) => afflux_traffic::Senders::First(count),
    };
    let size = match (incast.bytes, incast.total) {
        (Some(Size(bytes)), None) => IncastSize::PerSender(bytes.0),
        (None, Some(Size(total))) => IncastSize::Total(total.0),
        (Some(_), Some(_)) => {
            return Err(Wrong::at(
                at("total"),
                "bytes (of each sender) is given too: write only one of the two",
            ));
        }
        (None, None) => {
            return Err(Wrong::at(
                key.clone(),
                "the size is missing: write bytes (per sender) or total (all senders together)",
            ));
        }
    };
    let rounds = rounds(&mut incast.rounds, key)?;
    let closed = fill(&mut incast.closed_loop, false);
    let rhythm = if closed {
        if incast.period.is_some() {
            return Err(meaningless(at("period"), "closed_loop = true"));
        }
        Loop::Closed { delay: request_delay(&mut incast.request_delay, key, context)? }
    } else {
        if incast.request_delay.is_some() {
            return Err(meaningless(at("request_delay"), "closed_loop = false"));
        }
        Loop::Open { period: period(&mut incast.period, rounds, key, " or closed_loop = true")? }
    };
    let jitter = fill(&mut incast.jitter, Duration(Span::ZERO)).0;
    let pattern = afflux_traffic::Incast {
        hosts,
        receiver,
        senders,
        size,
        rounds,
        rhythm,
        start: shared.start,
        jitter,
    };
    context.budget.reserve(pattern.expected_flows(), || at("rounds"))?;
    pattern.generate(&shared.template, &shared.draws).map_err(|error| {
        let mut wrong = common::wrong(error, key);
        if wrong.key == at("sizes") {
            wrong.key = at(if incast.total.is_some() { "total" } else { "bytes" });
        }
        wrong
    })
}

fn rounds(slot: &mut Option<u32>, key: &Key) -> Result<u32, Wrong> {
    match fill(slot, 1) {
        0 => Err(Wrong::at(key.clone().name("rounds"), "found 0: write at least 1")),
        rounds => Ok(rounds),
    }
}

fn period(slot: &mut Option<Duration>, rounds: u32, key: &Key, or: &str) -> Result<Span, Wrong> {
    match *slot {
        None if rounds > 1 => Err(Wrong::at(
            key.clone(),
            format!("{rounds} rounds need period, the time between their starts{or}"),
        )),
        None => Ok(Span::ZERO),
        Some(_) if rounds == 1 => Err(meaningless(key.clone().name("period"), "rounds = 1")),
        Some(Duration(period)) => Ok(period),
    }
}

pub fn permutation(
    permutation: &mut Permutation,
    index: usize,
    key: &Key,
    classes: &mut Classes,
    context: &mut TrafficContext,
) -> Result<Generated, Wrong> {
    let mut transport = permutation.transport.take();
    let shared = shared(permutation.common(), Some(&mut transport), index, key, classes, context)?;
    permutation.transport = transport;
    let hosts = select::hosts(
        &fill(&mut permutation.hosts, all()),
        &key.clone().name("hosts"),
        context.facts,
    )?;
    let pairs = match permutation.stride {
        Some(stride) => afflux_traffic::pairs::stride(&hosts, stride),
        None => afflux_traffic::pairs::permutation(&hosts, &shared.draws),
    };
    let pairs = pairs.map_err(|error| common::wrong(error, key))?;
    let Permutation { sizes, rounds, period, jitter, .. } = permutation;
    bulk(pairs, &shared, BulkKeys { sizes, rounds, period, jitter }, key, context)
}

pub fn pairs(
    block: &mut Pairs,
    index: usize,
    key: &Key,
    classes: &mut Classes,
    context: &mut TrafficContext,
) -> Result<Generated, Wrong> {
    let mut transport = block.transport.take();
    let shared = shared(block.common(), Some(&mut transport), index, key, classes, context)?;
    block.transport = transport;
    let pairs = select::pairs(&block.pairs, &key.clone().name("pairs"), context.facts)?;
    let Pairs { sizes, rounds, period, jitter, .. } = block;
    bulk(pairs, &shared, BulkKeys { sizes, rounds, period, jitter }, key, context)
}

struct BulkKeys<'a> {
    sizes: &'a mut document::Sizes,
    rounds: &'a mut Option<u32>,
    period: &'a mut Option<Duration>,
    jitter: &'a mut Option<Duration>,
}

fn bulk(
    pairs: Vec<(u32, u32)>,
    shared: &common::Shared,
    keys: BulkKeys,
    key: &Key,
    context: &mut TrafficContext,
) -> Result<Generated, Wrong> {
    let sizes = sizes::distribution(keys.sizes, &key.clone().name("sizes"), context)?;
    let rounds = rounds(keys.rounds, key)?;
    let period = period(keys.period, rounds, key, "")?;
    let jitter = fill(keys.jitter, Duration(Span::ZERO)).0;
    let pattern = Bulk { pairs, sizes, start: shared.start, jitter, rounds, period };
    context.budget.reserve(pattern.expected_flows(), || key.clone().name("rounds"))?;
    pattern.generate(&shared.template, &shared.draws).map_err(|error| common::wrong(error, key))
}

pub fn all_to_all(
    block: &mut AllToAll,
    index: usize,
    key: &Key,
    classes: &mut Classes,
    context: &mut TrafficContext,
) -> Result<Generated, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let mut transport = block.transport.take();
    let shared = shared(block.common(), Some(&mut transport), index, key, classes, context)?;
    block.transport = transport;
    let hosts = select::hosts(&fill(&mut block.hosts, all()), &at("hosts"), context.facts)?;
    let sizes = sizes::distribution(&mut block.sizes, &at("sizes"), context)?;
    let stagger = match block.parallel {
        Some(_) if block.stagger.is_some() => return Err(meaningless(at("stagger"), "parallel")),
        Some(parallel) => Stagger::Parallel {
            parallel,
            delay: request_delay(&mut block.request_delay, key, context)?,
        },
        None if block.request_delay.is_some() => {
            return Err(Wrong::at(at("request_delay"), "has an effect only with parallel"));
        }
        None => match fill(&mut block.stagger, Duration(Span::ZERO)).0 {
            Span::ZERO => Stagger::None,
            interval => Stagger::Interval(interval),
        },
    };
    let pattern = afflux_traffic::AllToAll { hosts, sizes, start: shared.start, stagger };
    context.budget.reserve(pattern.expected_flows(), || at("hosts"))?;
    pattern.generate(&shared.template, &shared.draws).map_err(|error| common::wrong(error, key))
}

pub fn datagram(
    source: &mut DatagramSource,
    index: usize,
    key: &Key,
    classes: &mut Classes,
    context: &mut TrafficContext,
) -> Result<Generated, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let mut shared = shared(source.common(), None, index, key, classes, context)?;
    let pairs = select::pairs(&source.pairs, &at("pairs"), context.facts)?;
    let rate = source.rate.0;
    let mut transport = Datagram {
        rate: Some(Or::some(source.rate)),
        payload: source.payload,
        ecn_capable: source.ecn_capable,
    };
    let config = transport.resolve(key, context.keys)?;
    (source.payload, source.ecn_capable) = (transport.payload, transport.ecn_capable);
    shared.template.transport = context.transports.add(TransportConfig::Datagram(config), None);
    offer(source, &pairs, shared.template.transport, index, key, context);
    match (source.duration, source.bytes) {
        (Some(Duration(Span::ZERO)), _) => {
            Err(Wrong::at(at("duration"), "\"0s\": write a time above 0"))
        }
        (Some(Duration(duration)), None) => {
            let pattern = ConstantRate { pairs, rate, start: shared.start, duration };
            pattern.generate(&shared.template).map_err(|error| common::wrong(error, key))
        }
        (None, Some(Size(bytes))) if bytes.0 > 0 => {
            // The duration is a placeholder: the exact number of bytes replaces the size that
            // follows from it.
            let pattern =
                ConstantRate { pairs, rate, start: shared.start, duration: Span::from_us(1) };
            let mut given =
                pattern.generate(&shared.template).map_err(|error| common::wrong(error, key))?;
            given.flows.iter_mut().for_each(|flow| flow.bytes = bytes.0);
            debug_assert!(
                given
                    .flows
                    .iter()
                    .all(|flow| flow.start == Start::At(Time::from_ns(shared.start.round_ns())))
            );
            Ok(given)
        }
        (None, Some(_)) => Err(Wrong::at(at("bytes"), "\"0B\": write a size above 0")),
        (Some(_), Some(_)) => {
            Err(Wrong::at(at("bytes"), "duration is given too: write only one of the two"))
        }
        (None, None) => Err(Wrong::at(key.clone(), "the end is missing: write duration or bytes")),
    }
}

/// Records the rate that the source of each pair offers to its link.
fn offer(
    source: &DatagramSource,
    pairs: &[(u32, u32)],
    transport: u16,
    index: usize,
    key: &Key,
    context: &mut TrafficContext,
) {
    let rate = source.rate.0.0 as f64 * framing(transport, context);
    let from = source.start.map_or(Span::ZERO, |start| start.0);
    let lasts = source.duration.map(|duration| duration.0).or_else(|| {
        let bits = source.bytes.map(|Size(bytes)| 8.0 * bytes.0 as f64)?;
        Some(Span((bits / source.rate.0.0.max(1) as f64 * 1e12) as u64))
    });
    let to = lasts.map(|lasts| Span(from.0.saturating_add(lasts.0)));
    let of_pair = |(from_host, _): &(u32, u32)| Offer {
        block: index,
        key: key.clone().name("rate"),
        from,
        to,
        sources: vec![*from_host],
        rate,
        reported: false,
    };
    context.offers.extend(pairs.iter().map(of_pair));
}
