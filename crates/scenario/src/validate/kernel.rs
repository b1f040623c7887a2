//! `[[host.kernel]]`: hosts that are real Linux kernels.

use super::switch::matching;
use crate::document::{Document, Kernel};
use crate::inputs::Inputs;
use crate::scenario::KernelHost;
use afflux_config::Names;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{EngineKind, HostConfig, Link, NodeId, NodeKind, Plan};
use afflux_units::Span;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Directory of the guest in which commands start.
const HOME: &str = "/root";
/// Programs that scenarios often name, with the packages of Debian and Ubuntu that have them.
const PACKAGES: [(&str, &str); 8] = [
    ("iperf3", "iperf3"),
    ("redis-server", "redis-server"),
    ("redis-benchmark", "redis-tools"),
    ("memcached", "memcached"),
    ("nginx", "nginx"),
    ("ip", "iproute2"),
    ("tc", "iproute2"),
    ("ss", "iproute2"),
];
/// Largest number of hosts with addresses.
const MOST_HOSTS: u32 = 65_534;

/// Checks the blocks, and takes from the plan what does not apply to kernels. Adds their traffic
/// classes to `classes`. Returns the kernels, ordered by host.
pub fn hosts(
    document: &mut Document,
    plan: &mut Plan,
    inputs: &Inputs,
    classes: &mut Vec<String>,
) -> Result<Vec<KernelHost>, Wrong> {
    let mut found: BTreeMap<NodeId, KernelHost> = BTreeMap::new();
    for (index, block) in document.host.kernel.iter_mut().flatten().enumerate() {
        let key = Key::from("host").name("kernel").index(index);
        let settings = block.resolve(&key, plan.record.senders)?;
        let at_once = settings.run.into_iter().flat_map(|Names(commands)| commands);
        let mut commands: Vec<_> = at_once.map(|command| (Span::ZERO, command)).collect();
        for (start, command) in settings.at.into_iter().flatten() {
            if let Some(until) = plan.run.until.filter(|until| start.0 >= until.0) {
                let text = format!(
                    "the run ends at {}: write an earlier time, or a later run.until",
                    Span(until.0)
                );
                return Err(Wrong::at(key.name("at").name(&start.to_string()), text));
            }
            commands.push((start, command));
        }
        commands.sort_by_key(|(start, _)| *start);
        let template = KernelHost {
            host: 0,
            class: class(settings.class, &key, classes)?,
            tcp_info: settings.tcp_info,
            image: settings.image,
            files: files(block, &key, inputs)?,
            commands,
            sysctls: settings.sysctl.unwrap_or_default(),
            memory: settings.memory,
            watchdog: settings.watchdog,
        };
        for host in matching(&plan.topology, &settings.matching.0, NodeKind::Host, key.clone())? {
            let name = &plan.topology.nodes[host as usize].name;
            if found.insert(host, KernelHost { host, ..template.clone() }).is_some() {
                let text = format!("{name} has a kernel already: name each host once");
                return Err(Wrong::at(key.name("match"), text));
            }
        }
    }
    if found.is_empty() {
        return Ok(Vec::new());
    }
    fits(plan, &found)?;
    for &host in found.keys() {
        let node = &mut plan.topology.nodes[host as usize];
        let config = plan.hosts[node.config as usize].clone();
        node.config = plan.hosts.len() as u32;
        let stack =
            HostConfig { timing: None, qdisc: None, pacer: None, processor: None, ..config };
        plan.hosts.push(stack);
    }
    Ok(found.into_values().collect())
}

/// Returns the index of the class `name` in `classes`, after adding a new one.
fn class(name: String, key: &Key, classes: &mut Vec<String>) -> Result<u16, Wrong> {
    let known = classes.iter().position(|class| *class == name);
    let index = u16::try_from(known.unwrap_or(classes.len())).map_err(|_| {
        let text = "at most 65,536 different classes are possible: use a class that exists";
        Wrong::at(key.clone().name("class"), text)
    })?;
    if known.is_none() {
        classes.push(name);
    }
    Ok(index)
}

/// Returns path and place in the guest of each file. Writes absolute paths and digests into the
/// document.
fn files(block: &mut Kernel, key: &Key, inputs: &Inputs) -> Result<Vec<KernelFile>, Wrong> {
    let mut found = Vec::new();
    let mut digests = BTreeMap::new();
    let written = block.sha256.clone().unwrap_or_default();
    for (index, file) in block.files.iter_mut().flatten().enumerate() {
        let at = key.clone().name("files").index(index);
        let to = if file.starts_with('/') {
            file.clone()
        } else {
            let last = file.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            format!("{HOME}/{last}")
        };
        let path = inputs.absolute(file);
        if path.is_dir() {
            *file = path.to_string_lossy().into_owned();
        } else {
            let absolute = path.to_string_lossy().into_owned();
            let mut digest = written.get(&absolute).cloned();
            inputs.identify(file, &mut digest, &at).map_err(|wrong| packaged(wrong, &path))?;
            digests.extend(digest.map(|digest| (absolute, digest)));
        }
        if found.iter().any(|(_, other)| *other == to) {
            let text =
                format!("another file has the same place in the guest, {to}: rename one of them");
            return Err(Wrong::at(at, text));
        }
        found.push((path, to));
    }
    if !digests.is_empty() {
        block.sha256 = Some(digests);
    }
    Ok(found)
}

/// Adds to a message about a missing program the package that has it.
fn packaged(mut wrong: Wrong, path: &Path) -> Wrong {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    if !path.exists()
        && let Some((_, package)) = PACKAGES.iter().find(|(program, _)| *program == name)
    {
        wrong.message = format!("{}: the package {package} has it", wrong.message);
    }
    wrong
}

type KernelFile = (PathBuf, String);

/// Refuses plans that cannot have kernels.
fn fits(plan: &Plan, found: &BTreeMap<NodeId, KernelHost>) -> Result<(), Wrong> {
    let wrong = |key: &str, text: &str| Err(Wrong::at(Key::from(key), text));
    if plan.run.until.is_none() {
        return wrong(
            "run.until",
            "kernels do not end by themselves: write the simulated time at which the run stops, as in until = \"10s\"",
        );
    }
    if plan.run.engine == EngineKind::Ideal {
        return wrong(
            "run.engine",
            "\"ideal\" knows no packets, and kernels send packets: write another engine",
        );
    }
    if plan.applications.is_some() {
        return wrong(
            "traffic",
            "applications and kernels do not go together yet: remove one of them",
        );
    }
    if plan.topology.hosts > MOST_HOSTS {
        return wrong(
            "host.kernel",
            "the scenario has more than 65534 hosts, which is the number of addresses",
        );
    }
    let is_kernel = |host: NodeId| found.contains_key(&host);
    let name = |host: NodeId| plan.topology.nodes[host as usize].name.clone();
    let ends = plan.flows.iter().flat_map(|flow| [flow.src, flow.dst]);
    if let Some(host) = ends.into_iter().find(|host| is_kernel(*host)) {
        let text = format!(
            "{} is a kernel ([[host.kernel]]), whose programs make its traffic: write other hosts in the keys of the [[traffic]] block that name hosts",
            name(host)
        );
        return Err(Wrong::at(Key::from("traffic"), text));
    }
    let hosts = plan.topology.hosts;
    let between =
        |link: &&Link| link.a < hosts && link.b < hosts && (is_kernel(link.a) || is_kernel(link.b));
    if let Some(link) = plan.topology.links.iter().find(between) {
        let text = format!(
            "{} and {} are hosts on one link: kernels need a switch between them, because hosts would have to forward",
            name(link.a),
            name(link.b)
        );
        return Err(Wrong::at(Key::from("host.kernel"), text));
    }
    Ok(())
}
