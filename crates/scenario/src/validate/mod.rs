//! Validates a document and builds the plan from it. Every default that is used is written into the
//! document, which thereby becomes the resolved scenario.

mod balance;
mod cost;
mod hosts;
mod ideal;
mod kernel;
mod memory;
mod needs;
mod path_choice;
mod pfc;
mod preset;
mod python;
mod queue;
mod record;
mod switch;
pub mod traffic;
mod transport;
mod voq;
mod warnings;

pub use python::OwnCongestion;

use crate::document::Document;
use crate::inputs::Inputs;
use crate::scenario::{FabricCost, Followed, KernelHost, Packets, Reader};
use crate::topology::{self, Facts};
use crate::wire::Frames;
use afflux_config::tree::{Key, Tree, Wrong};
use afflux_net::spec::{
    Compat, HostConfig, NodeKind, Plan, RouteHash, RunConfig, SwitchConfig, SwitchKeys, Topology,
};
use afflux_net::transports;
use afflux_traffic::Job;
use hosts::Said;
use traffic::context::{TrafficContext, TransportUsage};
use transport::Transports;
use warnings::input::WarningInput;

/// A plan and the results of validation that belong to it.
pub struct Checked {
    pub plan: Plan,
    pub classes: Vec<String>,
    pub jobs: Vec<Job>,
    pub blocks: Vec<String>,
    pub cost: Option<FabricCost>,
    pub notes: Vec<String>,
    pub packets: Packets,
    /// Keys of each of the plan's switch settings, every default filled in.
    pub switch_keys: Vec<SwitchKeys>,
    pub own_congestion: Option<OwnCongestion>,
    pub kernels: Vec<KernelHost>,
    pub warnings: Vec<Wrong>,
    /// Whether some traffic is sent with `[host.transport]`.
    pub default_transport: bool,
    pub followed: Option<Followed>,
}

/// The fabric with the settings of its switches and hosts, and the settings of the run.
struct Network {
    wire: Frames,
    topology: Topology,
    switches: Vec<SwitchConfig>,
    switch_keys: Vec<SwitchKeys>,
    hosts: Vec<HostConfig>,
    said: Vec<Said>,
    run: RunConfig,
}

fn network(document: &mut Document, inputs: &mut Inputs) -> Result<Network, Wrong> {
    let wire = hosts::wire(&mut document.host)?;
    let mut topology = topology::build(&mut document.topology, inputs, wire.overhead())?;
    hosts::lasts(&wire, &topology)?;
    let frame = wire.payload + wire.wire.data_header;
    let (mut switches, switch_keys) =
        switch::assign(&mut document.switch, &mut topology, frame, document.run.compat.is_some())?;
    let (hosts, said) = hosts::assign(&mut document.host, &mut topology, frame, wire.mtu)?;
    debug_assert!(topology.nodes.iter().all(|node| (node.config as usize)
        < if node.kind == NodeKind::Host { hosts.len() } else { switches.len() }));
    let run = document.run.resolve(&Key::from("run"))?;
    if run.compat == Some(Compat::ConweaveNs3) {
        switches
            .iter_mut()
            .filter(|switch| switch.hash == RouteHash::OwnSeed)
            .for_each(|switch| switch.hash = RouteHash::Murmur3);
    }
    Ok(Network { wire, topology, switches, switch_keys, hosts, said, run })
}

/// Validates `document` and builds its plan. `tree` is the TOML tree that `document` was read from.
pub fn check(
    document: &mut Document,
    tree: &Tree,
    inputs: &mut Inputs,
    reader: &dyn Reader,
    most_flows: Option<u64>,
) -> Result<Checked, Wrong> {
    let written = document.clone();
    document.host.remove_empty();
    let Network { wire, topology, switches, switch_keys, hosts, said, run } =
        network(document, inputs)?;
    let record = record::check(&mut document.record, &topology)?;
    let cost = cost::check(&mut document.cost, &topology)?;
    let facts = Facts::of(&topology);
    let keys = transports::KeyContext {
        wire: &wire.wire,
        payload: wire.payload,
        why: &wire.why,
        idle: transport::idle_round_trip(&document.host, &wire, &facts),
        nic: facts.nic(),
        compat: run.compat,
    };
    let mut transports = transport::check(&mut document.host, &keys)?;
    let own_congestion = python::bind(&mut document.host, &mut transports, inputs)?;
    let of_hosts = hosts::transports(&document.host, &topology, &transports)?;
    let priority_of_dscp = hosts::priority_of_dscp(&document.host)?;
    let of_dscps = priority_of_dscp.iter().fold(0, |all, priority| all | 1 << priority);
    let packets = Packets { mtu: wire.mtu, link_header: wire.link_header, priority_of_dscp };
    let mut plan = Plan {
        hosts,
        switches,
        transports: Vec::new(),
        wire: wire.wire.clone(),
        flows: Vec::new(),
        undrawn: Vec::new(),
        applications: None,
        run,
        record,
        topology: topology.clone(),
    };
    let budget = memory::MemoryBudget::new(plan.run.memory);
    budget.fabric(&plan)?;
    let context = TrafficContext {
        inputs,
        reader,
        facts: &facts,
        keys: &keys,
        seed: plan.run.seed,
        transports,
        of_hosts,
        priority_of_dscp,
        run: &plan.run,
        clusters: Vec::new(),
        budget,
        uses: TransportUsage::default(),
        offers: Vec::new(),
        warnings: Vec::new(),
        most_flows,
        undrawn: Vec::new(),
        kernels: document.host.kernel.is_some(),
    };
    let (mut traffic, budget) = traffic::generate(&mut document.traffic, context)?;
    (plan.transports, plan.flows, plan.applications) =
        (std::mem::take(&mut traffic.transports.configs), traffic.flows, traffic.applications);
    plan.undrawn = traffic.undrawn;
    let used = traffic.uses.transports();
    hosts::real(&mut document.host.keys, &mut plan, &said, &used, packets.mtu)?;
    let kernels = kernel::hosts(document, &mut plan, inputs, &mut traffic.classes)?;
    fits(&plan, document, &traffic.transports, packets.mtu)?;
    let (max_memory, followed) = budget.of(&plan)?;
    plan.run.max_memory = max_memory;
    let input = WarningInput {
        tree,
        written: &written,
        document,
        plan: &plan,
        switch_keys: &switch_keys,
        transports: &traffic.transports,
        uses: &traffic.uses,
        kernels: (!kernels.is_empty()).then_some(of_dscps),
    };
    traffic.notes.extend(own_congestion.as_ref().map(OwnCongestion::note));
    traffic.warnings.extend(warnings::find(&input));
    Ok(Checked {
        plan,
        classes: traffic.classes,
        jobs: traffic.jobs,
        blocks: traffic.blocks,
        cost,
        notes: traffic.notes,
        packets,
        switch_keys,
        own_congestion,
        kernels,
        followed,
        warnings: traffic.warnings,
        default_transport: traffic.uses.variants.iter().any(|way| way.0 == 0),
    })
}

/// Checks that transports, switches and the engine work together.
fn fits(plan: &Plan, document: &Document, transports: &Transports, mtu: u16) -> Result<(), Wrong> {
    hosts::frames_fit(plan, mtu)?;
    pfc::fits(plan, document)?;
    needs::fits(plan, transports)?;
    path_choice::fits(plan, transports)?;
    ideal::fits(plan)
}
