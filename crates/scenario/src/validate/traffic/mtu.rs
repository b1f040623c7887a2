//! Payload on links that carry smaller packets than `host.mtu`: a flow's packets fit the links of
//! both of its hosts. Real hosts achieve this with TCP's MSS option (RFC 9293 §3.7.1) and with the
//! path MTU of a queue pair.

use super::context::TrafficContext;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::Flow;
use std::collections::BTreeMap;

/// Gives each flow a transport with less payload if its hosts' links carry no more.
pub fn fit(flows: &mut [Flow], context: &mut TrafficContext) -> Result<(), Wrong> {
    if context.facts.topology.links.iter().all(|link| link.longest.is_none()) {
        return Ok(());
    }
    let longest: Vec<Option<u16>> =
        (0..context.facts.hosts()).map(|host| context.facts.longest_frame(host)).collect();
    let mut known: BTreeMap<(u16, u16), u16> = BTreeMap::new();
    for flow in flows.iter_mut().filter(|flow| flow.src != flow.dst) {
        let ends = [flow.src, flow.dst].map(|host| longest[host as usize]);
        let Some(most) = ends.into_iter().flatten().min() else { continue };
        flow.transport = match known.get(&(flow.transport, most)) {
            Some(fitting) => *fitting,
            None => {
                let fitting = within(flow.transport, most, context)?;
                known.insert((flow.transport, most), fitting);
                fitting
            }
        };
    }
    Ok(())
}

/// Returns the variant of the transport whose frames fit the links of any hosts.
pub fn of_all(transport: u16, context: &mut TrafficContext) -> Result<u16, Wrong> {
    match (0..context.facts.hosts()).filter_map(|host| context.facts.longest_frame(host)).min() {
        Some(most) => within(transport, most, context),
        None => Ok(transport),
    }
}

/// Returns the variant of the transport with frames of at most `most` bytes.
fn within(transport: u16, most: u16, context: &mut TrafficContext) -> Result<u16, Wrong> {
    let config = &context.transports.configs[usize::from(transport)];
    let frames = config.parameters().frames();
    let budget = most.saturating_sub(context.keys.wire.data_header + frames.data);
    if budget >= frames.payload {
        return Ok(transport);
    }
    if budget == 0 {
        let text = format!(
            "frames of {most} B leave no payload after {} B of headers: write a larger mtu",
            context.keys.wire.data_header + frames.data
        );
        return Err(Wrong::at(Key::from("topology.override"), text));
    }
    let (fitting, origin) = (config.with_payload(budget), context.transports.origin(transport));
    Ok(context.transports.add(fitting, origin))
}
