//! `[host]`: resolves NICs, frame sizes and host overrides.

use super::queue::{Order, scheduling};
use super::switch::matching;
use super::transport::Transports;
use crate::document::{Host, HostOverride, Wire, WireTable};
use crate::wire::{Frames, Profile};
use afflux_config::keys::{fill, meaningless};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Or, Size, spelling};
use afflux_net::spec::{
    self, EngineKind, HostConfig, HostKeys, HostParts, NicKeys, NodeKind, Plan, Qdisc, QdiscKeys,
    TimingKeys, Topology,
};
use afflux_net::transports::HostTiming;
use afflux_units::{Bytes, Rate};
use std::collections::BTreeSet;

pub fn wire(host: &mut Host) -> Result<Frames, Wrong> {
    let key = Key::from("host.wire");
    let (wire, mtu_header, mtu) = match fill(&mut host.wire, Wire::Profile("ethernet".into())) {
        Wire::Profile(name) => {
            let profile = named(&name, key)?;
            (profile.wire(profile.name), profile.mtu_header, profile.mtu)
        }
        Wire::Table(mut table) => {
            let made = custom(&mut table, &key)?;
            host.wire = Some(Wire::Table(table));
            made
        }
    };
    let mtu = fill(&mut host.mtu, Size(Bytes(mtu.into()))).0;
    let key = Key::from("host.mtu");
    let budget = mtu.0.checked_sub(mtu_header.into()).filter(|budget| *budget > 0);
    let budget = budget.ok_or_else(|| {
        Wrong::at(
            key.clone(),
            format!(
                "\"{mtu}\" leaves no payload after {mtu_header} B of headers: write a larger mtu"
            ),
        )
    })?;
    if budget + u64::from(wire.data_header) > u64::from(u16::MAX) {
        let most = u64::from(u16::MAX) + u64::from(mtu_header) - u64::from(wire.data_header);
        return Err(Wrong::at(key, format!("\"{mtu}\": write at most \"{most}B\"")));
    }
    let why = format!("mtu = \"{mtu}\" less {mtu_header} B of headers");
    let link_header = wire.data_header - mtu_header.min(wire.data_header);
    Ok(Frames { wire, payload: budget as u16, why, mtu: mtu.0 as u16, link_header })
}

/// Longest frame in bytes, because frames count their bytes in 16 bits.
const LONGEST_FRAME: u32 = u16::MAX as u32;

/// Number of SACK blocks of an acknowledgement.
const SACK_BLOCKS: u32 = 3;

/// Room in bytes for the options that MPTCP adds to an acknowledgement.
const ACK_OPTIONS: u32 = 100;

/// Refuses an MTU whose full frames become too long with the headers of transports and balancers,
/// which do not count towards the MTU. `mtu`: largest packet in bytes.
pub fn frames_fit(plan: &Plan, mtu: u16) -> Result<(), Wrong> {
    let frames = plan.transports.iter().map(|transport| transport.parameters().frames());
    let payload = frames.map(|frames| u32::from(frames.payload) + u32::from(frames.data)).max();
    let between_tors = plan.switches.iter().map(|switch| switch.balance.header()).max();
    let frame = payload.unwrap_or(0)
        + u32::from(plan.wire.data_header)
        + u32::from(between_tors.unwrap_or(0));
    match frame.saturating_sub(LONGEST_FRAME) {
        0 => Ok(()),
        excess => {
            let most = u32::from(mtu) - excess;
            let found = format!(
                "\"{}\": with the headers that the transport and the switches add, a full frame has {frame} B, and at most {LONGEST_FRAME} B are possible: write at most \"{most}B\"",
                Bytes(mtu.into())
            );
            Err(Wrong::at(Key::from("host.mtu"), found))
        }
    }
}

/// Refuses links so fast that the shortest frame takes less than 1 ps, because the engine counts in
/// whole picoseconds.
pub fn lasts(frames: &Frames, topology: &Topology) -> Result<(), Wrong> {
    let bytes = frames.wire.least() + u64::from(frames.wire.gap);
    let most = Rate(bytes * 8_000_000_000_000);
    let fastest = topology.links.iter().flat_map(|link| link.rates()).max();
    match fastest.filter(|rate| *rate > most) {
        Some(rate) => {
            let found = format!(
                "a frame of {bytes} B takes less than 1 ps at {rate}: write longer frames, or links of at most {most}"
            );
            Err(Wrong::at(Key::from("host.wire"), found))
        }
        None => Ok(()),
    }
}

fn named(name: &str, key: Key) -> Result<&'static Profile, Wrong> {
    Profile::named(name).ok_or_else(|| {
        let names = Profile::names();
        Wrong::at(
            key,
            format!(
                "\"{name}\" is not a known profile{}: write {}, or a table with your own sizes",
                spelling::suggestion(name, names.clone()),
                spelling::list(names)
            ),
        )
    })
}

fn custom(table: &mut WireTable, key: &Key) -> Result<(spec::Wire, u16, u16), Wrong> {
    let at = |name: &str| key.clone().name(name);
    let base = named(&fill(&mut table.base, "ethernet".into()), at("base"))?;
    let size = |slot: &mut Option<Size>, default: u16, name: &str| {
        let bytes = fill(slot, Size(Bytes(default.into()))).0;
        u16::try_from(bytes.0)
            .ok()
            .filter(|bytes| *bytes <= 16_384)
            .ok_or_else(|| Wrong::at(at(name), format!("\"{bytes}\": write a size up to 16384B")))
    };
    let cnp = if table.ack.is_some() { None } else { Some(base.cnp) };
    let ack = size(&mut table.ack, base.ack, "ack")?;
    let wire = spec::Wire {
        name: fill(&mut table.name, "custom".into()),
        data_header: size(&mut table.data_header, base.data_header, "data_header")?,
        ack,
        cnp: size(&mut table.cnp, cnp.unwrap_or(ack), "cnp")?,
        syn: size(&mut table.syn, base.syn, "syn")?,
        sack_base: size(&mut table.sack_base, base.sack_base, "sack_base")?,
        sack_block: size(&mut table.sack_block, base.sack_block, "sack_block")?,
        min_frame: size(&mut table.min_frame, base.min_frame, "min_frame")?,
        gap: size(&mut table.gap, base.gap, "gap")?,
    };
    let blocks = SACK_BLOCKS * u32::from(wire.sack_block);
    let sack = u32::from(wire.ack) + u32::from(wire.sack_base) + blocks;
    if sack > LONGEST_FRAME - ACK_OPTIONS {
        let most = LONGEST_FRAME - ACK_OPTIONS;
        let found = format!(
            "\"{}B\": an acknowledgement with {SACK_BLOCKS} such blocks has {sack} B with ack and sack_base, and at most {most} B are possible: write less",
            wire.sack_block
        );
        return Err(Wrong::at(at("sack_block"), found));
    }
    if wire.ack == 0 && wire.min_frame == 0 {
        return Err(Wrong::at(at("ack"), "\"0B\": write at least \"1B\""));
    }
    let mtu_header =
        size(&mut table.mtu_header, base.mtu_header.min(wire.data_header), "mtu_header")?;
    if mtu_header > wire.data_header {
        return Err(Wrong::at(
            at("mtu_header"),
            format!(
                "\"{mtu_header}B\" is a part of data_header = \"{}B\": write at most that",
                wire.data_header
            ),
        ));
    }
    Ok((wire, mtu_header, base.mtu))
}

/// Flags of one host configuration: whether `timing` and `qdisc` are written. Keys that are not
/// written follow from the traffic.
#[derive(Clone, Copy)]
pub struct Said {
    timing: bool,
    qdisc: bool,
}

impl Said {
    fn by(keys: &HostKeys) -> Said {
        Said { timing: keys.timing.is_some(), qdisc: keys.qdisc.is_some() }
    }
}

/// Fills in `timing` and `qdisc` where they are not written. Hosts get the timing of real hosts if
/// no transport in `used` has `HostTiming::Exact` and not all have `HostTiming::Any`. They get a
/// queueing discipline if one of the transports also has `HostTiming::Kernel`. Neither applies with
/// `run.compat` or `engine = "ideal"`.
pub fn real(
    keys: &mut HostKeys,
    plan: &mut Plan,
    said: &[Said],
    used: &BTreeSet<u16>,
    mtu: u16,
) -> Result<(), Wrong> {
    let met = || {
        used.iter().map(|index| plan.transports[*index as usize].parameters().requirements().timing)
    };
    let real = plan.run.compat.is_none()
        && plan.run.engine != EngineKind::Ideal
        && met().all(|timing| timing != HostTiming::Exact)
        && met().any(|timing| timing != HostTiming::Any);
    let kernel = real && met().any(|timing| timing == HostTiming::Kernel);
    timing(keys, plan, said, real)?;
    qdisc(keys, plan, said, kernel.then_some(mtu))
}

fn timing(keys: &mut HostKeys, plan: &mut Plan, said: &[Said], real: bool) -> Result<(), Wrong> {
    if keys.timing.is_some() {
        return Ok(());
    }
    if !real {
        keys.timing = Some(Or::NONE);
        return Ok(());
    }
    let mut written = TimingKeys::default();
    let default = written.resolve(&Key::from("host.timing"))?;
    keys.timing = Some(Or::some(written));
    let unsaid = plan.hosts.iter_mut().zip(said).filter(|(_, said)| !said.timing);
    unsaid.for_each(|(config, _)| config.timing = Some(default.clone()));
    Ok(())
}

/// Fills in `qdisc` where it is not written. `kernel`: largest packet of hosts that have one.
fn qdisc(
    keys: &mut HostKeys,
    plan: &mut Plan,
    said: &[Said],
    kernel: Option<u16>,
) -> Result<(), Wrong> {
    if keys.qdisc.is_some() {
        return Ok(());
    }
    let unsaid = || said.iter().enumerate().filter(|(_, said)| !said.qdisc).map(|(index, _)| index);
    let allowed = |_: &u16| unsaid().all(|index| allows_qdisc(&plan.hosts[index]));
    let Some(mtu) = kernel.filter(allowed) else {
        keys.qdisc = Some(QdiscKeys::Off(Default::default()));
        return without_qdisc(keys, &Key::from("host"), "qdisc = \"off\", the default here");
    };
    keys.qdisc = Some(QdiscKeys::default());
    let default = discipline(keys, &Key::from("host"), mtu)?;
    for index in unsaid().collect::<Vec<_>>() {
        plan.hosts[index].qdisc = default.clone();
    }
    Ok(())
}

/// True if the NIC has one unlimited FIFO queue without AQM, marking and pacer, as a queueing
/// discipline of the kernel requires.
fn allows_qdisc(config: &HostConfig) -> bool {
    config.queue.is_none()
        && config.scheduling == spec::Scheduling::One
        && config.aqm.is_none()
        && config.marking.is_none()
        && config.pacer.is_none()
}

/// Resolves `qdisc`; `None` if it is not written or off.
fn discipline(keys: &mut HostKeys, key: &Key, mtu: u16) -> Result<Option<Qdisc>, Wrong> {
    let at = |name: &str| key.clone().name(name);
    if let Some(qdisc) = &mut keys.qdisc {
        qdisc.fill_quanta(mtu);
    }
    match keys.qdisc.as_mut().map(|kind| kind.resolve(&at("qdisc"))).transpose()? {
        None => Ok(None),
        Some(None) => without_qdisc(keys, key, "qdisc = \"off\"").map(|()| None),
        Some(Some(kind)) => keys.rings.resolve(key, kind).map(Some),
    }
}

/// Refuses keys of a queueing discipline that have no effect, because there is no discipline.
fn without_qdisc(keys: &HostKeys, key: &Key, why: &str) -> Result<(), Wrong> {
    match keys.rings.given() {
        Some(name) => Err(meaningless(key.clone().name(name), why)),
        None => Ok(()),
    }
}

/// Sets the configuration number of every host in `topology`. Returns the distinct configurations,
/// and for each whether `timing` and `qdisc` are written. `frame` and `mtu`: largest frame
/// and packet, in bytes.
pub fn assign(
    host: &mut Host,
    topology: &mut Topology,
    frame: u16,
    mtu: u16,
) -> Result<(Vec<HostConfig>, Vec<Said>), Wrong> {
    let key = Key::from("host");
    let given = (host.nic.clone(), host.keys.clone());
    let base = build(&mut host.nic, &mut host.keys, frame, mtu, &key)?;
    let (mut configs, mut said) = (vec![base], vec![Said::by(&given.1)]);
    let meant = meant(host, topology)?;
    let mut known: Vec<(Vec<usize>, u32)> = vec![(Vec::new(), 0)];
    for (node, changes) in topology.nodes.iter_mut().zip(meant) {
        if let Some((_, config)) = known.iter().find(|(known, _)| *known == changes) {
            node.config = *config;
            continue;
        }
        let overrides = changes.iter().map(|index| &host.overrides()[*index]);
        let (mut nic, mut keys) = overrides.fold(given.clone(), overlay);
        let key = key.clone().name("override").index(changes.last().copied().unwrap_or(0));
        node.config = configs.len() as u32;
        configs.push(build(&mut nic, &mut keys, frame, mtu, &key)?);
        said.push(Said::by(&keys));
        known.push((changes, node.config));
    }
    Ok((configs, said))
}

/// Returns, for each host, the indices of the overrides that match it.
fn meant(host: &Host, topology: &Topology) -> Result<Vec<Vec<usize>>, Wrong> {
    let mut meant: Vec<Vec<usize>> = vec![Vec::new(); topology.hosts as usize];
    for (index, change) in host.overrides().iter().enumerate() {
        let key = Key::from("host").name("override").index(index);
        let names = change.clone().resolve(&key)?.matching;
        for node in matching(topology, &names.0, NodeKind::Host, key)? {
            meant[node as usize].push(index);
        }
    }
    Ok(meant)
}

/// Keys of a host as an override may replace them.
type Keys = (NicKeys, HostKeys);

/// Returns the keys of `change`, and those of `base` for all that `change` does not have. If a
/// changed key makes other keys of `base` meaningless, those are removed.
fn overlay((mut nic, host): Keys, change: &HostOverride) -> Keys {
    let (over, keys) = (change.nic.clone(), change.keys.clone());
    if over.scheduling.is_some_and(|scheduling| nic.scheduling != Some(scheduling))
        || over.nic_queue.is_some()
    {
        (nic.scheduling, nic.priorities, nic.quantum, nic.nic_queue) = (None, None, None, None);
    }
    (over.or(nic), keys.or(host))
}

fn build(
    nic: &mut NicKeys,
    keys: &mut HostKeys,
    frame: u16,
    mtu: u16,
    key: &Key,
) -> Result<HostConfig, Wrong> {
    let order = Order {
        scheduling: &mut nic.scheduling,
        priorities: &mut nic.priorities,
        quantum: &mut nic.quantum,
        queues: nic.nic_queue.iter_mut().flatten().map(|queue| &mut queue.service).collect(),
        blocks: "host.nic_queue",
        frame,
    };
    let scheduling = scheduling(order, key)?;
    let kind = nic.scheduling.expect("filled in");
    // A discipline that is not written follows from the traffic: see `real`.
    let qdisc = discipline(keys, key, mtu)?;
    let config =
        keys.resolve(key, HostParts { nic: nic.resolve(key)?, kind, scheduling, qdisc })?;
    if config.qdisc.is_some() && !allows_qdisc(&config) {
        let why = "host.queue, scheduling, nic_queue, nic_ecn or pacer, which say themselves what waits in the NIC: write qdisc = \"off\", or remove them";
        return Err(Wrong::at(key.clone().name("qdisc"), format!("has no effect with {why}")));
    }
    Ok(config)
}

/// Returns the transport of each host: 0 (the default), or that of the last matching override that
/// names one.
pub fn transports(host: &Host, topology: &Topology, known: &Transports) -> Result<Vec<u16>, Wrong> {
    let meant = meant(host, topology)?;
    let mut named = Vec::with_capacity(host.overrides().len());
    for (index, change) in host.overrides().iter().enumerate() {
        let key = Key::from("host").name("override").index(index).name("transport");
        named.push(change.transport.as_deref().map(|name| known.find(name, key)).transpose()?);
    }
    Ok(meant
        .iter()
        .map(|changes| changes.iter().rev().find_map(|change| named[*change]).unwrap_or(0))
        .collect())
}

/// Returns the priority of each DSCP: SONiC's defaults (sonic-buildimage,
/// files/build_templates/qos_config.j2), changed as the scenario says.
pub fn priority_of_dscp(host: &Host) -> Result<[u8; 64], Wrong> {
    let mut map = [1; 64];
    for (dscp, priority) in [(3, 3), (4, 4), (5, 2), (8, 0), (46, 5), (48, 6)] {
        map[dscp] = priority;
    }
    for (dscp, &priority) in host.dscp_to_priority.iter().flatten() {
        let key = Key::from("host").name("dscp_to_priority").name(dscp);
        if priority > 7 {
            return Err(Wrong::at(
                key,
                format!("found {priority}: write a priority from 0 (lowest) to 7"),
            ));
        }
        match dscp.parse::<usize>().ok().and_then(|dscp| map.get_mut(dscp)) {
            Some(slot) => *slot = priority,
            None => {
                return Err(Wrong::at(
                    key,
                    format!("\"{dscp}\" is not a DSCP: write a number from 0 to 63, as in 26 = 3"),
                ));
            }
        }
    }
    Ok(map)
}
