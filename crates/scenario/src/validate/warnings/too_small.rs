//! Warns of queues that are smaller than a full frame, which therefore drop all of them.

use super::input::WarningInput;
use super::mtu::longest_frame;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{Buffer, Compare, Limit, SwitchConfig};
use afflux_units::Bytes;

pub fn find(input: &WarningInput, found: &mut Vec<Wrong>) {
    let Some(frame) = longest_frame(input) else { return };
    for switch in input.switches() {
        if let Some((key, text)) = of_switch(input, switch, frame.into()) {
            found.push(Wrong::at(key, text));
            break;
        }
    }
    let drops = input.hosts().filter_map(|host| match host.queue? {
        Limit::Bytes(bytes) if bytes < u64::from(frame) => Some(bytes),
        _ => None,
    });
    if let Some(bytes) = drops.min() {
        found.push(Wrong::at(input.host_key("queue"), dropped(bytes, frame.into())));
    }
}

fn of_switch(input: &WarningInput, switch: &SwitchConfig, frame: u64) -> Option<(Key, String)> {
    let small = |limit: Limit, drop_when: Compare| {
        match limit {
        Limit::Bytes(bytes) => {
            let least = frame + u64::from(drop_when == Compare::AtOrAbove);
            (bytes < least).then(|| dropped(bytes, least))
        }
        Limit::Packets(1) if drop_when == Compare::AtOrAbove => Some(
            "a queue of one packet with drop_when = \"at_or_above\" drops every frame: write at least \"2packets\"".to_string(),
        ),
        Limit::Packets(_) => None,
    }
    };
    match &switch.buffer {
        Buffer::Static { per_queue, drop_when } => {
            return small(*per_queue, *drop_when).map(|text| (input.switch_key("buffer"), text));
        }
        Buffer::Shared { total, .. } if *total < frame => {
            return Some((input.switch_key("buffer"), dropped(*total, frame)));
        }
        Buffer::Shared { total, alpha, reserved_per_queue } => {
            let most = *reserved_per_queue + (*total as f64 * alpha) as u64;
            if most < frame {
                let text = format!(
                    "{alpha} of the buffer of {} and the reserve are {most} B, and a full frame has {frame} B, so all of them are dropped: write more alpha or buffer",
                    Bytes(*total)
                );
                return Some((input.switch_key("alpha"), text));
            }
        }
        Buffer::Voq(voq) => {
            if let Some(bytes) = voq.max_bytes.filter(|bytes| *bytes < frame) {
                return Some((input.switch_key("voq.max_bytes"), dropped(bytes, frame)));
            }
        }
        Buffer::Unlimited | Buffer::Mmu(_) => {}
    }
    let about = switch.aqm.as_ref().map(|aqm| aqm.about());
    if let Some((Limit::Bytes(bytes), about)) = about.and_then(|about| Some((about.limit?, about)))
        && bytes < frame
    {
        let table = about.requires_tag.map_or("aqm", |(_, key, _)| key);
        let text = format!(
            "its queue of {} holds no full frame: write at least \"{frame}B\"",
            Bytes(bytes)
        );
        return Some((input.switch_key(table), text));
    }
    switch.own.iter().enumerate().find_map(|(index, queue)| {
        let text = small(queue.limit?, Compare::Above)?;
        Some((input.switch_key("queue").index(index).name("buffer"), text))
    })
}

fn dropped(bytes: u64, frame: u64) -> String {
    format!(
        "\"{}\": no full frame fits in, so all of them are dropped: write at least \"{frame}B\"",
        Bytes(bytes)
    )
}
