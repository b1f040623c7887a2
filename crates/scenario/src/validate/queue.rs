//! Scheduling and the queues of a port: `[[switch.queue]]`, `[[host.nic_queue]]`.

use afflux_config::Size;
use afflux_config::keys::{fill, meaningless};
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{self, Classes, SchedulingKind, Served, Service, ServiceKeys, Share};
use afflux_units::Bytes;

/// Keys of `[switch]`, `[host]` or an override that set the order in which a port sends.
pub struct Order<'a> {
    pub scheduling: &'a mut Option<SchedulingKind>,
    pub priorities: &'a mut Option<u8>,
    pub quantum: &'a mut Option<Size>,
    pub queues: Vec<&'a mut ServiceKeys>,
    /// Name of the queue blocks, for messages.
    pub blocks: &'static str,
    /// Size of a full frame in bytes.
    pub frame: u16,
}

pub fn scheduling(mut order: Order, key: &Key) -> Result<spec::Scheduling, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let (blocks, count) = (order.blocks, order.queues.len());
    // If `scheduling` is not written, it follows from the queue blocks.
    let says = |kind: &&SchedulingKind| match kind.about().served {
        Served::Shares(share) => order.queues.iter().any(|rules| rules.has(share.key)),
        Served::Priorities => count > 0,
        served => served == Served::One,
    };
    let implied =
        *SchedulingKind::ALL.iter().rev().find(says).expect("one queue is served in one way");
    let kind = fill(order.scheduling, implied);
    let (name, served) = (&kind.word(), kind.about().served);
    let share = if let Served::Shares(share) = served { Some(share) } else { None };
    if order.priorities.is_some() {
        if served != Served::Priorities {
            return Err(meaningless(at("priorities"), name));
        }
        if count > 0 {
            return Err(meaningless(
                at("priorities"),
                &format!("[[{blocks}]], whose blocks give the number of queues"),
            ));
        }
    }
    if order.quantum.is_some() && share.is_none() {
        return Err(meaningless(at("quantum"), name));
    }
    match (served, count) {
        (Served::One | Served::Urgency, 0) => return Ok(spec::Scheduling::One),
        (Served::One | Served::Urgency, _) => return Err(meaningless(own(key, blocks), name)),
        (Served::Priorities, 0) => {
            return match fill(order.priorities, 8) {
                queues @ 2..=8 => Ok(spec::Scheduling::Priorities { queues }),
                other => Err(Wrong::at(
                    at("priorities"),
                    format!("found {other}: write a number of queues from 2 to 8"),
                )),
            };
        }
        (Served::Shares(share), 0) => {
            return Err(Wrong::at(
                at("scheduling"),
                format!(
                    "needs queues: write a [[{blocks}]] block with {} or strict = true for each",
                    share.key
                ),
            ));
        }
        (_, 2..=8) => {}
        _ => {
            return Err(Wrong::at(own(key, blocks), format!("found {count}: write 2 to 8 queues")));
        }
    }
    let of_block = |block: usize| own(key, blocks).index(block);
    let place = places(&mut order, &of_block)?;
    let of_priority = priorities(&mut order, &place, &of_block)?;
    let mut service = vec![Service::Strict; count];
    for (block, rules) in order.queues.iter_mut().enumerate() {
        service[place[block]] = service_of(rules, share, name, &of_block(block))?;
    }
    let total: u32 = service
        .iter()
        .map(|s| if let Service::Bandwidth(percent) = s { u32::from(*percent) } else { 0 })
        .sum();
    if share.is_some_and(|share| share.percent) && total != 100 {
        return Err(Wrong::at(
            own(key, blocks),
            format!(
                "the bandwidths add up to {total}%: write shares of the bandwidth that strict queues leave, 100% in total"
            ),
        ));
    }
    if share.is_some() && service.iter().all(|s| *s == Service::Strict) {
        return Err(Wrong::at(
            at("scheduling"),
            format!(
                "all queues are strict: write \"{}\"",
                SchedulingKind::named(Served::Priorities)
            ),
        ));
    }
    let mut quantum = u32::from(order.frame);
    if share.is_some() {
        let given = fill(order.quantum, Size(Bytes(quantum.into()))).0;
        quantum = match given.0 {
            bytes @ 64..=1_000_000 => bytes as u32,
            _ => {
                return Err(Wrong::at(
                    at("quantum"),
                    format!("\"{given}\": write a size from 64B to 1MB"),
                ));
            }
        };
    }
    Ok(spec::Scheduling::Classes(Classes { of_priority, service, quantum }))
}

/// Returns the key of the queue blocks below `[switch]`, `[host]` or an override.
fn own(key: &Key, blocks: &str) -> Key {
    key.clone().name(blocks.rsplit('.').next().expect("not empty"))
}

/// Returns the queue number of each block.
fn places(order: &mut Order, key: &dyn Fn(usize) -> Key) -> Result<Vec<usize>, Wrong> {
    let count = order.queues.len();
    let mut place: Vec<usize> = Vec::with_capacity(count);
    let mut names: Vec<String> = Vec::with_capacity(count);
    for (block, rules) in order.queues.iter_mut().enumerate() {
        let index = usize::from(fill(&mut rules.index, block as u8));
        if index >= count {
            return Err(Wrong::at(
                key(block).name("index"),
                format!("found {index}: with {count} queues write 0 to {}", count - 1),
            ));
        }
        if let Some(other) = place.iter().position(|known| *known == index) {
            return Err(Wrong::at(
                key(block).name("index"),
                format!(
                    "block {other} has the index {index} too (blocks count from 0, and a block without index has its position): write another number"
                ),
            ));
        }
        place.push(index);
        let name = fill(&mut rules.name, format!("queue{index}"));
        if let Some(other) = names.iter().position(|known| *known == name) {
            return Err(Wrong::at(
                key(block).name("name"),
                format!(
                    "block {other} has the name \"{name}\" too (blocks count from 0): write another name"
                ),
            ));
        }
        names.push(name);
    }
    Ok(place)
}

/// Returns the queue of each priority.
fn priorities(
    order: &mut Order,
    place: &[usize],
    key: &dyn Fn(usize) -> Key,
) -> Result<[u8; 8], Wrong> {
    let last = place.len() - 1;
    if order.queues.iter().all(|rules| rules.priorities.is_none()) {
        for (rules, &queue) in order.queues.iter_mut().zip(place) {
            rules.priorities =
                Some(if queue == last { (queue as u8..8).collect() } else { vec![queue as u8] });
        }
    }
    let mut of_priority = [None; 8];
    for (block, (rules, &queue)) in order.queues.iter_mut().zip(place).enumerate() {
        for (index, &priority) in fill(&mut rules.priorities, Vec::new()).iter().enumerate() {
            let key = || key(block).name("priorities").index(index);
            match of_priority.get_mut(usize::from(priority)) {
                None => {
                    return Err(Wrong::at(
                        key(),
                        format!("found {priority}: write priorities from 0 to 7"),
                    ));
                }
                Some(Some(other)) => {
                    return Err(Wrong::at(
                        key(),
                        format!(
                            "queue {other} has priority {priority} already: remove it from one of the two"
                        ),
                    ));
                }
                Some(free) => *free = Some(queue as u8),
            }
        }
    }
    Ok(of_priority.map(|queue| queue.unwrap_or(0)))
}

/// Returns the service rule of one queue.
fn service_of(
    rules: &mut ServiceKeys,
    share: Option<Share>,
    name: &str,
    key: &Key,
) -> Result<Service, Wrong> {
    for other in ["weight", "bandwidth"] {
        if rules.has(other) && share.is_none_or(|share| share.key != other) {
            return Err(meaningless(key.clone().name(other), name));
        }
    }
    match (rules.weight.as_ref(), rules.bandwidth.as_ref()) {
        _ if rules.strict == Some(false) && share.is_none() => {
            Err(meaningless(key.clone().name("strict"), name))
        }
        (None, None) => match share.filter(|_| rules.strict != Some(true)) {
            None => {
                rules.strict = Some(true);
                Ok(Service::Strict)
            }
            Some(share) => Err(Wrong::at(
                key.clone(),
                format!(
                    "this queue has no service rule: write {} (its share of the bandwidth that strict queues leave) or strict = true",
                    share.example
                ),
            )),
        },
        _ if rules.strict == Some(true) => Err(Wrong::at(
            key.clone().name("strict"),
            "a strict queue has no share: write strict = true or a share, not both",
        )),
        (Some(weight @ 1..=10_000), _) => Ok(Service::Weight(*weight)),
        (Some(weight), _) => Err(Wrong::at(
            key.clone().name("weight"),
            format!("found {weight}: write a whole number from 1 to 10000"),
        )),
        (None, Some(percent)) => Ok(Service::Bandwidth(percent.0)),
    }
}
