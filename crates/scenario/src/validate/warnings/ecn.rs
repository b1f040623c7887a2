//! Warns of explicit congestion notification that has no effect: marks without reaction, reaction
//! without marks, thresholds out of reach.

use super::input::{UsedTransport, WarningInput};
use super::mtu::longest_frame;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{
    Buffer, EcnMode, Limit, Marking, QueueShare, QueueSize, Rules, SonicRules, SwitchConfig,
    TcpConfig, TransportConfig,
};
use afflux_net::transports::Setting;

pub fn find(input: &WarningInput, found: &mut Vec<Wrong>) {
    let used = input.used();
    let agreed = input.hosts().any(|host| host.ecn);
    for transport in &used {
        if let Some(advice) = unheeded(transport.config) {
            found.push(Wrong::at(transport.key.clone().name("ecn"), advice));
        } else if let Some(Setting { key, text }) =
            transport.config.parameters().requirements().ecn.marks
        {
            unmarked(input, transport, key, &text.to_uppercase(), agreed, found);
        }
    }
    unreachable_thresholds(input, found);
    useless_refusal(input, found);
    let heeded = useless_marking(input, &used, agreed, found);
    drops_next_to_marks(input, &used, (agreed, heeded), found);
    useless_pacer(input, &used, agreed, found);
}

/// Returns the warning of a transport that asks for ECN although its congestion control ignores
/// marks.
fn unheeded(config: &TransportConfig) -> Option<&'static str> {
    match config {
        TransportConfig::Tcp(tcp) if tcp.ecn != EcnMode::Off => {
            tcp.congestion.parameters().about().ignores_marks
        }
        _ => None,
    }
}

/// Warns of hosts that refuse ECN if no traffic asks hosts whether they use it.
fn useless_refusal(input: &WarningInput, found: &mut Vec<Wrong>) {
    // The programs of kernels decide on their traffic.
    if input.idle() || input.kernels.is_some() || input.hosts().all(|host| host.ecn) {
        return;
    }
    let all = input.uses.transports();
    let mut all = all.iter().map(|index| &input.plan.transports[usize::from(*index)]);
    if !all.any(negotiates) {
        let text = "has no effect: only connections of TCP, MPTCP and pFabric ask hosts whether they use ECN, and there is no such traffic; remove it";
        found.push(Wrong::at(input.host_key("ecn"), text));
    }
}

fn negotiates(config: &TransportConfig) -> bool {
    config.parameters().requirements().ecn.negotiated
}

/// True if a switch or NIC of the fabric marks frames of this priority.
fn marks(input: &WarningInput, priority: u8) -> bool {
    input.switches().any(|switch| by_discipline(switch) || marking_of(switch, priority).is_some())
        || input.hosts().any(|host| host.marking.is_some())
}

fn by_discipline(switch: &SwitchConfig) -> bool {
    switch.aqm.as_ref().is_some_and(|aqm| aqm.about().marks)
}

pub fn marking_of(switch: &SwitchConfig, priority: u8) -> Option<&Marking> {
    match switch.own_of(priority) {
        Some(own) => own.marking.as_ref(),
        None => switch.marking.as_ref(),
    }
}

fn unmarked(
    input: &WarningInput,
    transport: &UsedTransport,
    name: &str,
    what: &str,
    agreed: bool,
    found: &mut Vec<Wrong>,
) {
    let key = transport.key.clone().name(name);
    let asks = !transport.config.parameters().requirements().is_capable(false);
    if asks && !agreed {
        let then =
            if what == "ECN" { "it is never used" } else { "it works like NewReno, without ECN" };
        found.push(Wrong::at(key, format!("{what} needs hosts that agree to ECN, and all have ecn = false: {then}; remove ecn = false from [host]")));
        return;
    }
    if transport.priorities.iter().any(|priority| marks(input, *priority)) {
        return;
    }
    let elsewhere = (0..8).any(|priority| marks(input, priority));
    let cure = if elsewhere {
        let own: Vec<String> = transport.priorities.iter().map(u8::to_string).collect();
        format!(
            "only queues of other priorities mark, and its traffic has priority {}: give that traffic another priority, or write ecn for its queue",
            own.join(", ")
        )
    } else {
        "no switch or NIC marks: write [switch] ecn, as in ecn = { k = \"65kB\" }".to_string()
    };
    let then = match what {
        _ if !asks => "never slows down",
        "ECN" => "has no effect",
        _ => "works like NewReno",
    };
    found.push(Wrong::at(key, format!("{what} {then}, because {cure}")));
}

/// Returns the known limits on the length of a queue. A queue never becomes longer than any of
/// them.
fn longest(switch: &SwitchConfig, own: Option<&Buffer>, limit: Option<Limit>) -> Vec<Limit> {
    let of_buffer = match own.unwrap_or(&switch.buffer) {
        Buffer::Static { per_queue, .. } => Some(*per_queue),
        // q ≤ reserved + alpha (total - q).
        Buffer::Shared { total, alpha, reserved_per_queue } => Some(Limit::Bytes(
            (((*reserved_per_queue as f64 + alpha * *total as f64) / (1.0 + alpha)) as u64)
                .min(*total),
        )),
        Buffer::Mmu(mmu) => Some(Limit::Bytes(match &mmu.rules {
            Rules::Sonic(sonic) if switch.pfc.is_none() => longest_lossy(sonic, mmu.total),
            _ => mmu.total,
        })),
        Buffer::Unlimited | Buffer::Voq(_) => None,
    };
    of_buffer.into_iter().chain(limit).collect()
}

/// Returns a length in bytes that no lossy queue exceeds under SONiC's rules: beyond its reserve a
/// queue holds at most alpha times the free pool, q ≤ alpha (pool - q), and the last frame.
fn longest_lossy(rules: &SonicRules, total: u64) -> u64 {
    let of_queues = |of: fn(&QueueShare) -> Option<u64>, all: u64| {
        rules.own.queues.iter().filter_map(of).fold(all, u64::max)
    };
    let reserved = of_queues(|queue| queue.reserved, rules.queue_reserved);
    let alphas = rules.own.queues.iter().filter_map(|queue| queue.alpha);
    let alpha = alphas.fold(rules.lossy_alpha, f64::max);
    let pool = rules.lossy_pool.unwrap_or(total) as f64;
    let shared = (pool * alpha / (1.0 + alpha)) as u64;
    (reserved + shared + u64::from(u16::MAX)).min(total)
}

/// Returns the limit on the queue length that the threshold `kmin` is at or above, if there is one.
/// `frame`: bytes of the longest frame.
fn out_of_reach(marking: &Marking, longest: &[Limit], frame: u64) -> Option<Limit> {
    longest.iter().copied().find(|most| match (marking.kmin, most) {
        (Limit::Bytes(kmin), Limit::Bytes(most)) => kmin >= *most,
        (Limit::Packets(kmin), Limit::Packets(most)) => kmin >= *most,
        (Limit::Bytes(kmin), Limit::Packets(most)) => kmin >= u64::from(*most) * frame,
        (Limit::Packets(_), Limit::Bytes(_)) => false,
    })
}

fn unreachable_thresholds(input: &WarningInput, found: &mut Vec<Wrong>) {
    let mut reported: Vec<Key> = Vec::new();
    let frame = longest_frame(input).unwrap_or(u16::MAX).into();
    for switch in input.switches() {
        let queues = switch.own.iter().enumerate().filter_map(|(queue, own)| {
            let blocks = input.document.switch.keys.queue.iter().flatten();
            let block = blocks
                .enumerate()
                .find(|(_, block)| block.service.index == Some(queue as u8))
                .map(|(block, _)| block);
            let key = block
                .map(|block| Key::from("switch.queue").index(block).name("ecn"))
                .filter(|key| input.tree.has(key));
            own.marking
                .as_ref()
                .map(|marking| (key, marking, longest(switch, Some(&own.buffer), own.limit)))
        });
        let whole = switch
            .marking
            .as_ref()
            .filter(|_| switch.own.is_empty())
            .map(|marking| (None, marking, longest(switch, None, None)));
        for (key, marking, longest) in queues.chain(whole) {
            let Some(most) = out_of_reach(marking, &longest, frame) else { continue };
            let key = key.unwrap_or_else(|| input.switch_key("ecn"));
            if reported.contains(&key) {
                continue;
            }
            reported.push(key.clone());
            let cure = "lower the threshold, or give the queue more memory";
            let text = format!(
                "marks nothing: marking begins at {}, and a queue never holds more than {}: {cure}",
                QueueSize(marking.kmin),
                QueueSize(most)
            );
            found.push(Wrong::at(key, text));
        }
    }
    for host in input.hosts() {
        if let (Some(marking), Some(queue)) = (&host.marking, host.queue)
            && out_of_reach(marking, &[queue], frame).is_some()
        {
            let text = format!(
                "marks nothing: marking begins at {}, and the NIC's queue holds {}",
                QueueSize(marking.kmin),
                QueueSize(queue)
            );
            found.push(Wrong::at(
                input.host_key("nic_ecn"),
                format!("{text}: lower the threshold, or write a larger host.queue"),
            ));
            break;
        }
    }
}

/// Warns of marking to which no traffic reacts. Returns true if some traffic reacts to marks.
fn useless_marking(
    input: &WarningInput,
    used: &[UsedTransport],
    agreed: bool,
    found: &mut Vec<Wrong>,
) -> bool {
    let any = |priority: u8, test: fn(&TransportConfig, bool) -> bool| {
        let named =
            used.iter().any(|one| one.priorities.contains(&priority) && test(one.config, agreed));
        let unnamed = input.uses.unnamed.iter().filter(|way| way.1 == priority);
        named
            || unnamed
                .into_iter()
                .any(|way| test(&input.plan.transports[usize::from(way.0)], agreed))
    };
    let where_marked = |test| (0..8).any(|priority| any(priority, test) && marks(input, priority));
    if input.idle()
        || where_marked(|one, agreed| one.parameters().requirements().reacts_to_marks(agreed))
    {
        return !input.idle();
    }
    // Parameters and programs of kernels decide whether they use ECN. `find` has warned of a
    // transport that asks for marks and ignores them.
    if input.kernels.is_some() || where_marked(|one, _| unheeded(one).is_some()) {
        return false;
    }
    let ignored = where_marked(|one, agreed| one.parameters().requirements().is_capable(agreed));
    let all = input.uses.transports();
    let all = all.iter().map(|index| &input.plan.transports[usize::from(*index)]);
    let (cure, refused) = cure(input, &all.collect::<Vec<_>>(), agreed);
    let cause = match (ignored, refused) {
        (true, _) => "the congestion control of all traffic ignores marks",
        (false, false) => "no traffic that passes it is ECN-capable",
        (false, true) => "all hosts have ecn = false",
    };
    let or_remove = cure.clone().unwrap_or_else(|| "remove it".to_string());
    let mut reported: Vec<Key> = Vec::new();
    let mut tell = |key: Key, text: String| {
        if !reported.contains(&key) {
            reported.push(key.clone());
            found.push(Wrong::at(key, text));
        }
    };
    // A curve with a written `incapable` is meant to drop or to pass.
    let curve = |key: Key, drops: bool| {
        if input.tree.has(&key.clone().name("incapable")) && !ignored {
            return None;
        }
        let text = if ignored {
            format!("has no effect: {cause}; {or_remove}")
        } else if drops {
            let first = cure.as_ref().map_or(String::new(), |cure| format!("{cure}; or "));
            format!("drops frames instead of marking them: {cause}; {first}write {INCAPABLE}")
        } else {
            format!("marks nothing: {cause}; {or_remove}")
        };
        Some((key, text))
    };
    for switch in input.switches() {
        if let Some(marking) = &switch.marking
            && (switch.own.is_empty()
                || switch.own.iter().any(|own| own.marking.as_ref() == Some(marking)))
            && let Some((key, text)) = curve(input.switch_key("ecn"), marking.drops_incapable())
        {
            tell(key, text);
        }
        let key = input.switch_key("aqm");
        match switch
            .aqm
            .as_ref()
            .filter(|_| by_discipline(switch))
            .and_then(|aqm| aqm.about().useless)
        {
            Some(what) => tell(key, format!("{what}: {cause}; {or_remove}")),
            None if by_discipline(switch) && input.tree.has(&key.clone().name("ecn")) => {
                tell(key.name("ecn"), format!("has no effect: {cause}; {or_remove}"))
            }
            None => {}
        }
    }
    for (block, queue) in input.document.switch.keys.queue.iter().flatten().enumerate() {
        let key = Key::from("switch.queue").index(block).name("ecn");
        if input.tree.has(&key)
            && queue.ecn.as_ref().is_some_and(|ecn| ecn.0.is_some())
            && let Some((key, text)) = curve(key, true)
        {
            tell(key, text);
        }
    }
    for host in input.hosts() {
        if let Some(marking) = &host.marking
            && let Some((key, text)) = curve(input.host_key("nic_ecn"), marking.drops_incapable())
        {
            tell(key, text);
        }
    }
    false
}

const INCAPABLE: &str =
    "incapable here: \"pass\" lets these frames pass, \"drop\" says that RED is meant to drop";

/// Returns what to write so that one of these transports reacts to marks, or `None` if none of them
/// can, and true if it is the hosts that refuse ECN.
fn cure(
    input: &WarningInput,
    transports: &[&TransportConfig],
    agreed: bool,
) -> (Option<String>, bool) {
    let any = |test: fn(&TransportConfig) -> bool| transports.iter().any(|one| test(one));
    if !agreed && any(|one| one.parameters().requirements().is_capable(true) && negotiates(one)) {
        return (Some("remove ecn = false from [host]".to_string()), true);
    }
    let mut cures = Vec::new();
    let negotiating = transports.iter().filter(|one| negotiates(one));
    let cure = |one: &&TransportConfig| one.parameters().requirements().ecn.cure;
    if let Some(cure) = negotiating.chain(transports).find_map(cure) {
        cures.push(format!("write {cure}"));
    } else if input.document.traffic.iter().any(|block| block.kind() == "datagram") {
        cures.push(
            "write ecn_capable = true in the [[traffic]] block of kind = \"datagram\"".into(),
        );
    }
    if !agreed && any(negotiates) {
        cures.insert(0, "remove ecn = false from [host]".into());
    }
    ((!cures.is_empty()).then(|| cures.join(", and ")), !agreed && any(negotiates))
}

fn ignores_marks(tcp: &TcpConfig) -> bool {
    tcp.congestion.parameters().about().ignores_marks.is_some()
}

/// Returns the marking curves of the fabric, each with its key and with a bit mask of the
/// priorities whose frames it judges.
pub fn markings<'a>(input: &'a WarningInput) -> Vec<(Key, &'a Marking, u8)> {
    let mut every: Vec<(Key, &Marking, u8)> = Vec::new();
    let mut note = |key: Key, marking: &'a Marking, priorities: u8| match every
        .iter_mut()
        .find(|one| one.0 == key && one.1 == marking)
    {
        Some(one) => one.2 |= priorities,
        None => every.push((key, marking, priorities)),
    };
    for switch in input.switches() {
        for priority in 0..8 {
            let Some(marking) = marking_of(switch, priority) else { continue };
            let queue = switch.scheduling.of_priority()[usize::from(priority)];
            let blocks = input.document.switch.keys.queue.iter().flatten();
            let block = blocks
                .enumerate()
                .find(|(_, block)| block.service.index == Some(queue))
                .map(|(block, _)| block);
            let own = block
                .map(|block| Key::from("switch.queue").index(block).name("ecn"))
                .filter(|key| input.tree.has(key));
            note(own.unwrap_or_else(|| input.switch_key("ecn")), marking, 1 << priority);
        }
    }
    for marking in input.hosts().filter_map(|host| host.marking.as_ref()) {
        note(input.host_key("nic_ecn"), marking, u8::MAX);
    }
    every
}

/// Warns of curves that mark some frames and drop others, because those are not ECN-capable. With
/// classic ECN that concerns some frames of every connection (RFC 3168 §6.1.1: SYNs, §6.1.4: pure
/// acknowledgements, §6.1.5: retransmissions), and a lost SYN costs a second.
fn drops_next_to_marks(
    input: &WarningInput,
    used: &[UsedTransport],
    (agreed, heeded): (bool, bool),
    found: &mut Vec<Wrong>,
) {
    let mut reported: Vec<Key> = Vec::new();
    for (key, marking, judged) in markings(input) {
        if !marking.drops_incapable()
            || input.tree.has(&key.clone().name("incapable"))
            || reported.contains(&key)
        {
            continue;
        }
        let named = || {
            used.iter()
                .filter(|one| one.priorities.iter().any(|priority| judged >> priority & 1 != 0))
        };
        let unnamed = || {
            input
                .uses
                .unnamed
                .iter()
                .filter(|way| judged >> way.1 & 1 != 0)
                .map(|way| &input.plan.transports[usize::from(way.0)])
        };
        let every: Vec<&TransportConfig> = named().map(|one| one.config).chain(unnamed()).collect();
        let capable = |one: &TransportConfig| one.parameters().requirements().is_capable(agreed);
        if !every.iter().any(|one| capable(one)) {
            // If no traffic of the fabric reacts to marks, `useless_marking` has warned.
            if !every.is_empty() && heeded {
                reported.push(key.clone());
                let priorities: Vec<String> = (0..8)
                    .filter(|priority| judged >> priority & 1 != 0)
                    .map(|priority| priority.to_string())
                    .collect();
                let cure = if every
                    .iter()
                    .any(|one| matches!(one, TransportConfig::Tcp(tcp) if !ignores_marks(tcp)))
                {
                    "host.transport.ecn = \"classic\" for it, or "
                } else {
                    ""
                };
                let text = format!(
                    "drops frames instead of marking them: no traffic of priority {} is ECN-capable; write {cure}{INCAPABLE}",
                    priorities.join(", ")
                );
                found.push(Wrong::at(key, text));
            }
            continue;
        }
        let mut who: Vec<String> = Vec::new();
        let without: Vec<String> =
            named().filter(|one| !capable(one.config)).map(|one| one.key.to_string()).collect();
        if !without.is_empty() {
            who.push(format!("all frames of {}", without.join(" and ")));
        } else if unnamed().any(|one| !capable(one)) {
            who.push("all frames of traffic without ECN".to_string());
        }
        let classic: Vec<_> = every
            .iter()
            .filter_map(|one| one.parameters().segments())
            .map(|(tcp, _)| tcp)
            // `find` has warned of ECN that the congestion control ignores.
            .filter(|tcp| tcp.ecn == EcnMode::Classic && !ignores_marks(tcp))
            .collect();
        if !classic.is_empty() && agreed {
            let opening = if classic.iter().any(|tcp| tcp.handshake) { "SYNs, " } else { "" };
            who.push(format!("{opening}pure acknowledgements and retransmissions of connections with ecn = \"classic\""));
        }
        if who.is_empty() {
            continue;
        }
        reported.push(key.clone());
        let text = format!(
            "drops frames that are not ECN-capable where it would mark others, in queues above {}: {}; write incapable = \"pass\" here to let them pass, or \
             incapable = \"drop\" if the switch should drop them",
            QueueSize(marking.kmin),
            who.join(", and ")
        );
        found.push(Wrong::at(key, text));
    }
}

fn useless_pacer(
    input: &WarningInput,
    used: &[UsedTransport],
    agreed: bool,
    found: &mut Vec<Wrong>,
) {
    let paced = |one: &UsedTransport| {
        let requirements = one.config.parameters().requirements();
        requirements.ecn.paced && requirements.is_capable(agreed)
    };
    if input.hosts().any(|host| host.pacer.is_some()) && !used.iter().any(paced) {
        found.push(Wrong::at(
            input.host_key("pacer"),
            "has no effect: it delays only TCP flows that got ECN marks, and no TCP traffic is ECN-capable; write congestion = \"dctcp\" in [host.transport], or remove it",
        ));
    }
}
