//! `[switch]`: resolves presets, overrides and all keys of switches.

use super::queue::{Order, scheduling};
use super::{pfc, preset, voq};
use crate::document::Switch;
use crate::topology::Names;
use afflux_config::keys::{fill, meaningless, nested};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Off, Or, Size, spelling};
use afflux_net::spec::{
    self, Buffer, Compare, EcnKeys, Form, Forwarding, Limit, Marking, NodeId, NodeKind,
    QueueConfig, QueueLength, QueueSize, SchedulingKind, Served, SharedMemory, Sharing,
    SwitchConfig, SwitchKeys, SwitchParts, Topology, checked_alpha, checked_reserve,
};
use afflux_units::{Bytes, Rate};

/// Sets the number of the settings of every switch in `topology`. Returns the distinct settings,
/// and for each the keys that it follows from, every default filled in.
pub fn assign(
    switch: &mut Switch,
    topology: &mut Topology,
    frame: u16,
    ns3: bool,
) -> Result<(Vec<SwitchConfig>, Vec<SwitchKeys>), Wrong> {
    let key = Key::from("switch");
    let mut overrides = switch.overrides.take();
    switch.keys = with_preset(std::mem::take(&mut switch.keys));
    for change in overrides.iter_mut().flatten() {
        change.keys = with_preset(std::mem::take(&mut change.keys));
    }
    let context =
        SwitchContext { fabric: topology.clone(), nic_rate: pfc::nic_rate(topology), frame, ns3 };
    let base = build(&mut switch.keys, &context, &key)?;
    // For each node, the indices of the overrides that match it.
    let mut meant: Vec<Vec<usize>> = vec![Vec::new(); topology.nodes.len()];
    for (index, change) in overrides.iter_mut().flatten().enumerate() {
        let key = key.clone().name("override").index(index);
        let names = change.resolve(&key)?.matching;
        for node in matching(topology, &names.0, NodeKind::Switch, key)? {
            meant[node as usize].push(index);
        }
    }
    let change = |index: usize| overrides.as_ref().map(|all| all[index].keys.clone());
    let mut configs = vec![base];
    let mut filled = vec![switch.keys.clone()];
    let mut known: Vec<(Vec<usize>, u32)> = vec![(Vec::new(), 0)];
    for (node, changes) in
        topology.nodes.iter_mut().zip(meant).filter(|(node, _)| node.kind == NodeKind::Switch)
    {
        if let Some((_, config)) = known.iter().find(|(known, _)| *known == changes) {
            node.config = *config;
            continue;
        }
        let mut keys = switch.keys.clone();
        for change in changes.iter().filter_map(|index| change(*index)) {
            keys = overlay(&keys, change);
        }
        let last = changes.last().copied().unwrap_or(0);
        node.config = configs.len() as u32;
        configs.push(build(&mut keys, &context, &key.clone().name("override").index(last))?);
        filled.push(keys);
        known.push((changes, node.config));
    }
    switch.overrides = overrides;
    voq::check_queues(topology, &configs)?;
    super::balance::fits(topology, &configs)?;
    Ok((configs, filled))
}

/// Returns the nodes that an override matches.
pub fn matching(
    topology: &Topology,
    patterns: &[String],
    kind: NodeKind,
    key: Key,
) -> Result<Vec<NodeId>, Wrong> {
    let names = Names::of(topology);
    if patterns.is_empty() {
        let one = if kind == NodeKind::Host { "host" } else { "switch" };
        return Err(Wrong::at(
            key.name("match"),
            format!("[] matches nothing: write at least one {one}"),
        ));
    }
    let mut nodes = Vec::new();
    for pattern in patterns {
        nodes.extend(
            names
                .matching(pattern, Some(kind))
                .map_err(|message| Wrong::at(key.clone().name("match"), message))?,
        );
    }
    Ok(nodes)
}

/// Returns the written keys, completed by the keys of the preset that they name.
fn with_preset(written: SwitchKeys) -> SwitchKeys {
    match written.preset {
        None => written,
        Some(preset) => overlay(&preset::keys(preset), written),
    }
}

/// Returns the keys of `change`, and those of `base` for all that `change` does not have. If a
/// changed key makes other keys of `base` meaningless, those are removed.
fn overlay(base: &SwitchKeys, mut change: SwitchKeys) -> SwitchKeys {
    let mut keys = base.clone();
    if change.sharing.is_some_and(|sharing| base.sharing != Some(sharing)) {
        (keys.buffer, keys.alpha, keys.reserved, keys.drop_when, keys.voq) =
            (None, None, None, None, None);
        (keys.mmu, keys.pfc, keys.honours_pause) = (None, None, None);
        keys.queue
            .iter_mut()
            .flatten()
            .for_each(|queue| (queue.buffer, queue.alpha, queue.reserved) = (None, None, None));
    }
    if change.scheduling.is_some_and(|scheduling| base.scheduling != Some(scheduling))
        || change.queue.is_some()
    {
        (keys.scheduling, keys.priorities, keys.quantum, keys.queue) = (None, None, None, None);
    }
    if change.forwarding.is_some_and(|forwarding| base.forwarding != Some(forwarding)) {
        keys.cut_through = None;
    }
    // A switch has either marking or a queue discipline.
    if is_on(&change.aqm) {
        keys.ecn = None;
        keys.queue.iter_mut().flatten().for_each(|queue| queue.ecn = None);
    }
    if is_on(&change.ecn) {
        keys.aqm = None;
    }
    if change.device_queue.is_some_and(|packets| packets > 0) {
        keys.queue_length = None;
    }
    if change.pfc.as_ref().is_some_and(|pfc| pfc.0.is_none()) {
        keys.voq.iter_mut().for_each(|voq| (voq.xoff, voq.xon) = (None, None));
    }
    change.voq = voq::overlay(keys.voq.take(), change.voq);
    change.mmu = pfc::overlay_mmu(keys.mmu.take(), change.mmu);
    change.pfc = pfc::overlay_pfc(keys.pfc.take(), change.pfc);
    change.or(keys)
}

/// Checks the keys of a switch whose queues serve and drop by urgency, and fills in their defaults.
fn check_pfabric(keys: &mut SwitchKeys, word: &str, key: &Key) -> Result<(), Wrong> {
    let at = |name: &str| key.clone().name(name);
    if keys.sharing.is_none() && keys.voq.is_none() {
        keys.sharing = Some(Sharing::of(Form::PerQueue));
    }
    let form = keys.sharing.map(Sharing::form);
    if !matches!(form, Some(Form::PerQueue | Form::Unlimited)) {
        let what = format!(
            "{word} drops the least urgent frame of each queue, so queues need their own limits: write sharing = \"static\" (with buffer) or \"unlimited\""
        );
        return Err(Wrong::at(at("sharing"), what));
    }
    if form == Some(Form::PerQueue)
        && fill(&mut keys.drop_when, Compare::AtOrAbove) == Compare::Above
    {
        return Err(Wrong::at(
            at("drop_when"),
            format!("{word} drops a frame when the queue reaches its limit: write \"at_or_above\""),
        ));
    }
    for (name, given) in [("ecn", is_on(&keys.ecn)), ("aqm", is_on(&keys.aqm))] {
        if given {
            return Err(meaningless(at(name), word));
        }
    }
    Ok(())
}

/// True if a table is written instead of `"off"`.
fn is_on<T>(given: &Option<Or<Off, T>>) -> bool {
    given.as_ref().is_some_and(|given| given.0.is_some())
}

/// Context in which the keys of a switch are resolved.
struct SwitchContext {
    fabric: Topology,
    nic_rate: Rate,
    /// Size of a full frame in bytes.
    frame: u16,
    /// Whether the switch has the deviations of ConWeave's ns-3 simulator.
    ns3: bool,
}

fn build(keys: &mut SwitchKeys, context: &SwitchContext, key: &Key) -> Result<SwitchConfig, Wrong> {
    let at = |name: &str| key.clone().name(name);
    if is_on(&keys.aqm) && is_on(&keys.ecn) {
        return Err(Wrong::at(
            at("aqm"),
            "ecn and aqm both decide on marks and drops: write \"off\" for one of them (aqm disciplines that mark have ecn = true in aqm)",
        ));
    }
    let order = Order {
        scheduling: &mut keys.scheduling,
        priorities: &mut keys.priorities,
        quantum: &mut keys.quantum,
        queues: keys.queue.iter_mut().flatten().map(|queue| &mut queue.service).collect(),
        blocks: "switch.queue",
        frame: context.frame,
    };
    let scheduling = scheduling(order, key)?;
    let kind = keys.scheduling.expect("filled in");
    if kind.is_pfabric() {
        check_pfabric(keys, &kind.word(), key)?;
    }
    let trims = match &mut keys.trimming {
        None => None,
        Some(table) => Some(spec::Aqm::Trim(table.resolve(&at("trimming"), context.frame)?)),
    };
    if trims.is_some() {
        let asked = [
            ("ecn", is_on(&keys.ecn)),
            ("aqm", is_on(&keys.aqm)),
            ("scheduling", kind.is_pfabric()),
            (
                "sharing",
                fill(&mut keys.sharing, Sharing::of(Form::Unlimited)).form() != Form::Unlimited,
            ),
        ];
        if let Some((name, _)) = asked.into_iter().find(|(_, asked)| *asked) {
            return Err(meaningless(at(name), "trimming"));
        }
    }
    let mut buffer = buffer(keys, context.nic_rate, key)?;
    let pfabric_order = match &buffer {
        Buffer::Static { per_queue, .. } => kind.discipline(Some(*per_queue)),
        _ => kind.discipline(None),
    };
    if pfabric_order.is_some() {
        buffer = Buffer::Unlimited;
    }
    let pfc = flow_control(keys, &buffer, key)?;
    fill(&mut keys.ecn, Or::NONE);
    let marking = nested(&mut keys.ecn, at("ecn"), EcnKeys::marking)?;
    let aqm = match fill(&mut keys.aqm, Or::NONE).0 {
        None => pfabric_order.or(trims),
        Some(_) => nested(&mut keys.aqm, at("aqm"), |table, key| {
            let aqm = table.resolve(key)?;
            let about = aqm.about();
            if about.alone && kind.about().served != Served::One {
                let (name, one) = (about.model.name, SchedulingKind::named(Served::One));
                let what = format!(
                    "\"{name}\" has its own scheduling: write scheduling = \"{one}\", or another kind"
                );
                return Err(Wrong::at(key.clone().name("kind"), what));
            }
            Ok(aqm)
        })?,
    };
    fill(&mut keys.forwarding, Forwarding::StoreAndForward);
    let lossless = pfc.as_ref().map_or(0, |pfc| pfc.priorities);
    let own = own_queues(keys, &mut buffer, lossless, &scheduling, &marking, key)?;
    let balance = super::balance::balance(
        keys.balance.get_or_insert_default(),
        &context.fabric,
        context.ns3,
        &at("balance"),
    )?;
    let parts = SwitchParts { buffer, pfc, marking, aqm, scheduling, own, balance };
    let config = keys.resolve(key, parts)?;
    for (excluded, why) in [
        (config.cut_through.is_some(), "forwarding = \"cut_through\""),
        (matches!(config.buffer, Buffer::Mmu(_)), "a memory management unit"),
        (config.pfc.is_some(), "PFC, which counts frames at ingress"),
    ] {
        if excluded && config.processor.is_some() {
            return Err(meaningless(at("processor"), why));
        }
    }
    Ok(config)
}

/// Resolves `pfc`, and refuses keys that PFC or ingress accounting exclude.
fn flow_control(
    keys: &mut SwitchKeys,
    buffer: &Buffer,
    key: &Key,
) -> Result<Option<spec::Pfc>, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let sharing = keys.sharing.expect("just filled in");
    // Bit mask of the priorities that are not counted at ingress; `None` if `sharing` does not
    // count at ingress.
    let bypass = match buffer {
        Buffer::Mmu(mmu) => Some(mmu.bypass),
        Buffer::Voq(_) => Some(0),
        _ => None,
    };
    let asked = is_on(&keys.pfc);
    let honours = keys.honours_pause.unwrap_or(asked);
    let managed = matches!(buffer, Buffer::Mmu(_));
    if managed || honours {
        let why = if managed { "a memory management unit" } else { "honours_pause = true" };
        if keys.device_queue > Some(0) {
            return Err(meaningless(at("device_queue"), why));
        }
        if keys.queue_length == Some(QueueLength::ThroughStart) {
            return Err(Wrong::at(
                at("queue_length"),
                format!(
                    "\"through_start\" with {why}: write \"through_transmission\" or \"before_transmission\""
                ),
            ));
        }
    }
    fill(&mut keys.pfc, Or::NONE);
    nested(&mut keys.pfc, at("pfc"), |pfc, key| match bypass {
        Some(bypass) => pfc.resolve(key, sharing.formula(), bypass),
        None => {
            let kinds = spelling::list(Sharing::names(Sharing::counts_ingress));
            let what = format!("PFC needs per-port ingress accounting: write sharing = {kinds}");
            Err(Wrong::at(key.clone(), what))
        }
    })
}

fn buffer(keys: &mut SwitchKeys, nic_rate: Rate, key: &Key) -> Result<Buffer, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let packets = keys.buffer.is_some_and(|QueueSize(limit)| matches!(limit, Limit::Packets(_)));
    let sharing = fill(
        &mut keys.sharing,
        Sharing::of(match (packets, &keys.voq) {
            (true, _) => Form::PerQueue,
            (false, Some(_)) => Form::Voq,
            (false, None) => Form::Shared,
        }),
    );
    let (total, alpha, reserved) = sharing.usual();
    let (form, managed) = (sharing.form(), sharing.managed().is_some());
    if managed && keys.drop_when.is_some() {
        return Err(meaningless(at("drop_when"), "a memory management unit"));
    }
    for (name, given, needs) in [
        ("buffer", keys.buffer.is_some(), total.is_some() || form == Form::PerQueue),
        ("alpha", keys.alpha.is_some(), alpha.is_some()),
        ("reserved", keys.reserved.is_some(), reserved.is_some()),
        ("voq", keys.voq.is_some(), form == Form::Voq),
        ("drop_when", keys.drop_when.is_some(), form == Form::PerQueue),
        ("mmu", keys.mmu.is_some(), managed),
    ] {
        if given && !needs {
            return Err(meaningless(at(name), &sharing.word()));
        }
    }
    if form == Form::Voq {
        return voq::buffer(keys, key);
    }
    if form == Form::PerQueue {
        let Some(QueueSize(per_queue)) = keys.buffer else {
            return Err(Wrong::at(
                key.clone(),
                "sharing = \"static\" needs buffer, the limit of each queue: write a size as in \"225kB\", or \"100packets\"",
            ));
        };
        not_empty(per_queue, at("buffer"))?;
        let drop_when = fill(&mut keys.drop_when, Compare::Above);
        return Ok(Buffer::Static { per_queue, drop_when });
    }
    let Some(total) = total else { return Ok(Buffer::Unlimited) };
    let total = match fill(&mut keys.buffer, QueueSize(Limit::Bytes(total))).0 {
        Limit::Bytes(total) if total > 0 && total < 1 << 40 => total,
        Limit::Bytes(0) if !managed => {
            return Err(Wrong::at(
                at("buffer"),
                "a buffer of size 0 drops every frame: write a size above 0",
            ));
        }
        Limit::Bytes(total) => {
            let what = format!("\"{}\": write a size from 1B to 1TB", Bytes(total));
            return Err(Wrong::at(at("buffer"), what));
        }
        Limit::Packets(_) => {
            return Err(Wrong::at(
                at("buffer"),
                "only sharing = \"static\" counts packets: write a size as in \"32MB\"",
            ));
        }
    };
    let alpha = match alpha {
        Some(usual) => checked_alpha(fill(&mut keys.alpha, usual), at("alpha"))?,
        None => 0.0,
    };
    let reserved = match reserved {
        Some(usual) => {
            checked_reserve(fill(&mut keys.reserved, Size(Bytes(usual))), total, at("reserved"))?
        }
        None => 0,
    };
    let Some(kind) = sharing.managed() else {
        return Ok(Buffer::Shared { total, alpha, reserved_per_queue: reserved });
    };
    let memory = SharedMemory { kind, total, alpha, reserved, nic_rate };
    keys.mmu.get_or_insert_default().mmu(&memory, &at("mmu")).map(Buffer::Mmu)
}

fn not_empty(limit: Limit, key: Key) -> Result<(), Wrong> {
    match limit {
        Limit::Bytes(0) | Limit::Packets(0) => {
            Err(Wrong::at(key, "a queue of size 0 drops every frame: write a size above 0"))
        }
        _ => Ok(()),
    }
}

/// Writes `alpha` and `reserved` of single queues into a memory management unit, which keeps them
/// itself.
fn own_shares(
    keys: &SwitchKeys,
    mmu: &mut spec::Mmu,
    lossless: u8,
    scheduling: &spec::Scheduling,
    key: &Key,
) -> Result<(), Wrong> {
    let total = mmu.total;
    let of_priority = scheduling.of_priority();
    for (block, queue) in keys.queue.iter().flatten().enumerate() {
        let at = |name: &str| key.clone().name("queue").index(block).name(name);
        let number = queue.service.index.expect("checked with the scheduling");
        let mut priorities = (0..8).filter(|priority| of_priority[*priority] == number).peekable();
        let only_lossless =
            priorities.peek().is_some() && priorities.all(|priority| lossless >> priority & 1 != 0);
        let unlimited = "a memory management unit does not limit lossless traffic at egress, and this queue has lossless priorities only: remove it, or write a \
                         [[switch.mmu.group]] for them";
        if only_lossless && queue.buffer.is_some() {
            return Err(Wrong::at(at("buffer"), unlimited));
        }
        let Some(name) = [("alpha", queue.alpha.is_some()), ("reserved", queue.reserved.is_some())]
            .into_iter()
            .find(|(_, given)| *given)
            .map(|(name, _)| name)
        else {
            continue;
        };
        let Some(own) = mmu.rules.settings_mut().own_queues() else {
            let sharing = keys.sharing.expect("filled in");
            let what = format!(
                "{} has one value for all queues: remove it, or write sharing = {}",
                sharing.word(),
                spelling::list(Sharing::names(|kind| kind.about().is_some_and(|it| it.own_shares)))
            );
            return Err(Wrong::at(at(name), what));
        };
        if only_lossless {
            return Err(Wrong::at(at(name), unlimited));
        }
        let share = &mut own[usize::from(number)];
        share.alpha = queue.alpha.map(|alpha| checked_alpha(alpha, at("alpha"))).transpose()?;
        share.reserved = queue
            .reserved
            .map(|reserved| checked_reserve(reserved, total, at("reserved")))
            .transpose()?;
    }
    Ok(())
}

/// Returns the settings of each queue, by number. The result is empty if all queues have the
/// settings of the switch.
fn own_queues(
    keys: &mut SwitchKeys,
    of_all: &mut Buffer,
    lossless: u8,
    scheduling: &spec::Scheduling,
    marking_of_all: &Option<Marking>,
    key: &Key,
) -> Result<Vec<QueueConfig>, Wrong> {
    if let Buffer::Mmu(mmu) = of_all {
        own_shares(keys, mmu, lossless, scheduling, key)?;
    }
    let of_all = &*of_all;
    let mut own =
        vec![
            QueueConfig { buffer: of_all.clone(), limit: None, marking: marking_of_all.clone() };
            keys.queue.as_ref().map_or(0, Vec::len)
        ];
    for (block, queue) in keys.queue.iter_mut().flatten().enumerate() {
        let key = key.clone().name("queue").index(block);
        let at = |name: &str| key.clone().name(name);
        let config =
            &mut own[usize::from(queue.service.index.expect("checked with the scheduling"))];
        let word = match of_all {
            Buffer::Unlimited => "sharing = \"unlimited\"",
            Buffer::Static { .. } => "sharing = \"static\"",
            Buffer::Shared { .. } => "sharing = \"dynamic\"",
            Buffer::Voq(_) => "sharing = \"voq\"",
            Buffer::Mmu(_) => "a memory management unit",
        };
        match (&mut config.buffer, of_all) {
            (Buffer::Shared { alpha, reserved_per_queue, .. }, Buffer::Shared { total, .. }) => {
                *alpha = checked_alpha(queue.alpha.unwrap_or(*alpha), at("alpha"))?;
                let reserved = queue.reserved.unwrap_or(Size(Bytes(*reserved_per_queue)));
                *reserved_per_queue = checked_reserve(reserved, *total, at("reserved"))?;
            }
            (Buffer::Mmu(_), _) => {}
            _ if queue.alpha.is_some() => return Err(meaningless(at("alpha"), word)),
            _ if queue.reserved.is_some() => return Err(meaningless(at("reserved"), word)),
            _ => {}
        }
        if let Some(QueueSize(limit)) = queue.buffer {
            not_empty(limit, at("buffer"))?;
            match &mut config.buffer {
                Buffer::Static { per_queue, .. } => *per_queue = limit,
                _ => config.limit = Some(limit),
            }
        }
        if let Some(ecn) = &queue.ecn {
            if ecn.0.is_some() && is_on(&keys.aqm) {
                return Err(Wrong::at(
                    at("ecn"),
                    "ecn and aqm both decide on marks and drops: write aqm = \"off\", or remove ecn",
                ));
            }
            config.marking = nested(&mut queue.ecn, at("ecn"), EcnKeys::marking)?;
        }
    }
    let differs = own
        .iter()
        .any(|q| q.limit.is_some() || q.buffer != *of_all || q.marking != *marking_of_all);
    Ok(if differs { own } else { Vec::new() })
}
