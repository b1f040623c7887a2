//! Scenarios in which some hosts are real Linux kernels in simulated time.
//!
//! A kernel is a guest of `afflux-kernel`. Its packets pass the simulated network through the door
//! of `afflux-net` for hosts outside of it, and both follow one clock.

mod error;
mod image;
mod multipath;
mod pcap;
mod received;
mod relay;
mod report;
mod root;
mod rows;
mod segment;
mod store;
mod wire;

pub use error::KernelError;
pub use image::{Image, directory};
pub use report::{HostReport, KernelReport};

use afflux_kernel::{GuestSpec, NicSpec};
use afflux_net::outside::Outsiders;
use afflux_net::record::{Output, SenderRecord};
use afflux_net::spec::Plan;
use afflux_net::{Progress, RunError};
use afflux_scenario::{KernelHost, Scenario};
use relay::{Relay, Resident, Shared};
use rows::Rows;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use wire::Flows;

/// Result of a finished run.
#[derive(Debug)]
pub struct KernelRun {
    pub output: Output,
    pub report: KernelReport,
    /// Further files of the result, by name.
    pub files: Vec<(String, Vec<u8>)>,
}

/// Runs `scenario`, whose kernels have their images below `images`.
///
/// # Errors
/// [`KernelError`] if a kernel cannot start, or the run was cancelled. A kernel that fails later
/// ends the run, and the report says so.
pub fn run(
    scenario: &Scenario,
    images: &Path,
    progress: &Progress,
) -> Result<KernelRun, KernelError> {
    let plan = &scenario.plan;
    let residents = residents(scenario, images, progress)?;
    let shared = Shared::new(plan, &scenario.kernels, &scenario.packets, progress);
    let hosts: Vec<(u32, u16)> =
        scenario.kernels.iter().map(|kernel| (kernel.host, kernel.class)).collect();
    let mut waiting: BTreeMap<u32, Resident> =
        residents.into_iter().map(|resident| (resident.host, resident)).collect();
    let output = {
        let mut guests = |hosts: &[u32]| -> Box<dyn afflux_net::outside::Guests + '_> {
            let mine = hosts.iter().filter_map(|host| waiting.remove(host)).collect();
            Box::new(Relay::new(mine, &shared))
        };
        let outsiders =
            Outsiders { hosts: &hosts, guests: &mut guests, contents: shared.contents() };
        afflux_net::run_with(plan, progress, Some(outsiders))
    };
    let mut residents = shared.take_residents();
    let mut output = match output {
        Err(RunError::Cancelled) => return Err(KernelError::Cancelled),
        other => other?,
    };
    relay::finish(&mut residents, output.end, progress);
    let failure = shared.take_failure();
    let mut seen = Flows::default();
    for resident in &mut residents {
        seen.join(std::mem::take(&mut resident.flows));
    }
    let rows = Rows::new(plan, &scenario.kernels, &seen, &shared.take_dropped());
    let (mut report, files) = report::make(plan, &scenario.kernels, residents, failure);
    report.flows = rows.flows.len();
    add_samples(scenario, &files, &rows, &mut output);
    report.shared_wait_ns = rows.join(&mut output) / 1_000;
    Ok(KernelRun { output, report, files })
}

/// Adds the samples of TCP's state that guests left to those of simulated senders.
fn add_samples(scenario: &Scenario, files: &[(String, Vec<u8>)], rows: &Rows, output: &mut Output) {
    for kernel in scenario.kernels.iter().filter(|kernel| kernel.tcp_info.is_some()) {
        let host = &scenario.plan.topology.nodes[kernel.host as usize].name;
        let name = format!("{host}.{}", root::TCP_INFO);
        let Some((_, content)) = files.iter().find(|file| file.0 == name) else { continue };
        let text = String::from_utf8_lossy(content);
        let before_end = |sample: &SenderRecord| sample.time < output.end;
        let samples: Vec<SenderRecord> =
            text.lines().filter_map(|line| rows.sample(line)).filter(before_end).collect();
        output.senders.extend(samples);
    }
    output.senders.sort_unstable_by_key(|sample| (sample.time, sample.flow, sample.subflow));
}

/// Starts the kernels, and lets them boot until they are idle.
fn residents(
    scenario: &Scenario,
    images: &Path,
    progress: &Progress,
) -> Result<Vec<Resident>, KernelError> {
    let plan = &scenario.plan;
    let mut known: BTreeMap<&str, Image> = BTreeMap::new();
    for kernel in &scenario.kernels {
        if !known.contains_key(kernel.image.as_str()) {
            known.insert(&kernel.image, Image::find(images, &kernel.image)?);
        }
    }
    let mut specs = Vec::new();
    for kernel in &scenario.kernels {
        specs.push(spec(scenario, kernel, &known[kernel.image.as_str()])?);
    }
    let guests = afflux_kernel::start(specs).map_err(|failed| KernelError::start(&failed))?;
    let mut residents: Vec<Resident> = guests
        .into_iter()
        .zip(&scenario.kernels)
        .map(|(guest, kernel)| Resident::new(guest, kernel.host, cards(plan, kernel.host)))
        .collect();
    relay::boot(&mut residents, progress)?;
    Ok(residents)
}

fn cards(plan: &Plan, host: u32) -> u32 {
    plan.topology.links.iter().filter(|link| link.a == host || link.b == host).count() as u32
}

/// Returns the settings of the guest for a host.
fn spec(scenario: &Scenario, kernel: &KernelHost, image: &Image) -> Result<GuestSpec, KernelError> {
    let plan = &scenario.plan;
    let host = kernel.host;
    let links = plan.topology.links.iter().filter(|link| link.a == host || link.b == host);
    let wire = &plan.wire;
    let nics = links.enumerate().map(|(nic, link)| NicSpec {
        mac: relay::mac(host, nic as u32),
        mtu: scenario.packets.mtu,
        rate: link.rate_of(link.b == host).0,
        link_header: u64::from(scenario.packets.link_header),
        gap: u64::from(wire.gap),
        least: u64::from(wire.min_frame),
        priority_of_dscp: scenario.packets.priority_of_dscp,
    });
    let name = plan.topology.nodes[host as usize].name.clone();
    Ok(GuestSpec {
        name: name.clone(),
        image: image.program.clone(),
        memory: kernel.memory,
        nics: nics.collect(),
        initramfs: root::tree(plan, kernel, image)
            .map_err(|missing| KernelError::File { host: name, source: missing })?
            .finish(),
        // Not 0, which is no seed for the guest.
        seed: plan.run.seed.wrapping_mul(1_000_003).wrapping_add(u64::from(host)) | 1 << 63,
        watchdog: Duration::from_nanos(kernel.watchdog.0 / 1_000),
    })
}
