//! The machines and the configuration of Hadoop: `cluster` of `kind = "hadoop"` and
//! `"hadoop_trace"`.

use super::hosts::{HostItem, Hosts, Receiver};
use crate::topology::Facts;
use crate::validate::traffic::common::Shared;
use crate::validate::traffic::context::{HadoopCluster, TrafficContext};
use crate::validate::traffic::{by_host, mtu, segments, select};
use afflux_config::keys;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{Pacing, Reader, Receive, TcpConfig, TransportConfig};
use afflux_traffic::Classes;
use afflux_traffic::hadoop::{
    self, ClusterKeys, Framework, Machines, Settings, TaskWork, TransportChoice,
};
use afflux_units::{Bytes, Rate};
use std::path::Path;

keys! {
    /// Machines of a Hadoop cluster, and the configuration of Hadoop. Defaults are those of Hadoop
    /// 3.3.6 and Tez where there are any. Values that depend on the machines (processor time,
    /// disks, start-up) must be measured.
    pub struct Cluster as "Cluster" => HostsOfCluster(facts: &Facts) of written {
        /// Hosts that run tasks.
        compute: Hosts as Vec<u32> = "all", check |names, key| select::hosts(&names, &key, facts);
        /// Hosts that hold blocks.
        data: Hosts as Vec<u32> = (written.compute.clone().expect("filled in")) "`compute`", check |names, key| select::hosts(&names, &key, facts);
        /// Data nodes to which logs are uploaded.
        log_hosts: Hosts as Vec<u32> = (written.data.clone().or(written.compute.clone()).expect("filled in")) "`data`",
            check |names, key| select::hosts(&names, &key, facts);
        /// The host of the name node and the resource manager.
        master: Receiver as u32 = (Receiver(HostItem::Number(data[0]))) "the first data node", check |Receiver(name), key| select::host(&name, &key, facts);
        /// The host from which jobs are submitted.
        client: Receiver as u32 = (Receiver(HostItem::Number(master))) "`master`", check |Receiver(name), key| select::host(&name, &key, facts);
        @keys: ClusterKeys;
    }
}

/// Largest number of maps of a job, and of all jobs of a trace.
pub const MOST_MAPS: u64 = hadoop::MOST_MAPS;

impl Cluster {
    /// Resolves the settings of the cluster, apart from its jobs. `key` is the path of the block.
    pub fn settings(
        &mut self,
        framework: Framework,
        shared: &mut Shared,
        key: &Key,
        classes: &mut Classes,
        context: &mut TrafficContext,
    ) -> Result<Settings, Wrong> {
        let (of_block, named) = (shared.template.transport, key.clone().name("transport"));
        shared.template.transport = mtu::of_all(of_block, context)?;
        let key = key.clone().name("cluster");
        let HostsOfCluster { compute, data, log_hosts, master, client } =
            self.resolve(&key, context.facts)?;
        let hosts = compute.iter().chain(&data).copied().chain([master, client]);
        by_host::must_be_alike(of_block, hosts, context, named)?;
        let machines = Machines { compute, data, log_hosts, master, client };
        self.keys.settings(&key, framework, machines, shared.draws, |tasks| {
            transports(shared, tasks, &key, classes, context)
        })
    }
}

/// Adds a cluster with its jobs to the traffic of block `index`. `key` is the path of the block,
/// `source` its key that decides how many flows there are.
pub fn add(
    settings: Settings,
    index: usize,
    transport: u16,
    key: &Key,
    (source, trace): (&str, Option<&Path>),
    context: &mut TrafficContext,
) -> Result<(), Wrong> {
    let config = &context.transports.configs[usize::from(transport)];
    segments::transfers_fit(&settings, config, key, trace)?;
    let flows = settings.expected_flows() as f64;
    context.budget.reserve(flows, || key.clone().name(source))?;
    context.clusters.push(HadoopCluster { block: index, settings });
    Ok(())
}

/// Purposes of a cluster's flows.
const PURPOSES: [&str; 5] = ["read", "fetch", "write", "rpc", "log"];

/// Returns the classes of a cluster's flows, one for each purpose, with the class of the block.
pub fn classes(own: &str) -> [String; PURPOSES.len()] {
    PURPOSES.map(|purpose| match own {
        "default" => purpose.to_string(),
        own => format!("{own}.{purpose}"),
    })
}

/// Creates the variants of the block's transport, and the classes of its flows.
fn transports(
    shared: &Shared,
    tasks: &TaskWork,
    key: &Key,
    classes: &mut Classes,
    context: &mut TrafficContext,
) -> Result<TransportChoice, Wrong> {
    let connect = shared.template.transport;
    let TransportConfig::Tcp(tcp) = context.transports.configs[connect as usize].clone() else {
        return Err(Wrong::at(
            key.clone(),
            "Hadoop needs TCP, and the transport of this block sends datagrams: write another transport",
        ));
    };
    let rate = |ps_per_byte: u64| Rate(8_000_000_000_000 / ps_per_byte.max(1));
    let answer = TcpConfig { handshake: false, ..tcp.clone() };
    let receive = if let Receive::Buffer(own) = tcp.receive {
        Receive::Buffer(own)
    } else {
        Receive::Buffer(tasks.read_buffer)
    };
    // An HDFS client reads packets of 64 KiB.
    let reader = Some(Reader::Worker { chunk: Bytes(65_536), rate: rate(tasks.map_cpu) });
    // A block comes over the connection of its request, so its transfer has no handshake.
    let read = TcpConfig { receive, reader, handshake: false, ..tcp.clone() };
    let pacing = tcp.pacing.unwrap_or(Pacing {
        most: None,
        slow_start_percent: 200,
        avoidance_percent: 120,
    });
    let write =
        TcpConfig { pacing: Some(Pacing { most: Some(rate(tasks.reduce_cpu)), ..pacing }), ..tcp };
    let mut add = |config| context.transports.add(TransportConfig::Tcp(config), Some(connect));
    let (answer, read, write) = (add(answer), add(read), add(write));
    context.uses.variants.insert((connect, shared.template.priority));
    let mut indices = [0; PURPOSES.len()];
    for (index, name) in indices.iter_mut().zip(self::classes(&shared.block.class)) {
        *index = classes.index(&name).ok_or_else(|| {
            Wrong::at(key.clone(), "at most 65,536 different classes are possible")
        })?;
    }
    let [read_class, fetch, write_class, rpc, log] = indices;
    let classes = hadoop::Classes { read: read_class, fetch, write: write_class, rpc, log };
    Ok(TransportChoice {
        connect,
        answer,
        read,
        write,
        priority: shared.template.priority,
        classes,
    })
}
