//! Random memory of switches, with and without flow control.

use crate::spec::*;
use crate::testing::*;
use afflux_units::{Rate, Span};
use proptest::prelude::*;

/// A memory management unit, with or without flow control: the rules, the shared memory, lossless
/// priorities, headroom (too small or sufficient), (duration of a pause, repeat at half time, hosts
/// obey pauses), cells.
pub(super) type Managed = (Rules, u64, u8, Option<u64>, (u16, bool, bool), Option<u16>);

pub(super) fn managed() -> impl Strategy<Value = Option<Managed>> {
    let alpha = || prop_oneof![Just(0.0625), Just(0.25), Just(1.0), 0.02..4.0f64];
    let sonic = (
        alpha(),
        0..10_000u64,
        prop::option::of(1.0..4.0f64),
        alpha(),
        0..12_000u64,
        0..6_000u64,
        0..6_000u64,
        prop::bool::weighted(0.3),
    )
        .prop_map(
            |(alpha, reserved, lossy_ingress_alpha, lossy_alpha, lossy, xon, xon_offset, pool)| {
                Rules::Sonic(SonicRules {
                    alpha,
                    reserved,
                    lossy_ingress_alpha,
                    lossy_alpha,
                    queue_reserved: 9_500,
                    lossy_pool: Some(20_000 + 10 * lossy),
                    // The pool does not suffice for all groups at once.
                    headroom_pool: pool.then_some(40_000),
                    xon,
                    xon_offset,
                    own: if lossy % 2 == 0 { Box::default() } else { Box::new(own_shares(lossy)) },
                })
            },
        );
    let conweave = alpha().prop_map(|ingress_alpha| {
        Rules::Conweave(ConweaveRules { ingress_alpha, egress_alpha: 1.0, mtu: 1_048 })
    });
    let hpcc = (0..2u8, 0..10_000u64, 0..6_000u64).prop_map(|(shift, reserved, resume_offset)| {
        Rules::Hpcc(HpccRules { shift, nic_rate: Rate::from_gbps(25), reserved, resume_offset })
    });
    let rules = prop_oneof![3 => sonic, 1 => conweave, 1 => hpcc];
    let priorities = prop_oneof![1 => Just(0u8), 2 => Just(0b110u8), 3 => Just(0xff_u8)];
    let headroom = prop_oneof![1 => (0..40_000u64).prop_map(Some), 2 => Just(None)];
    let pause =
        (prop_oneof![Just(u16::MAX), 1..2_000u16], any::<bool>(), prop::bool::weighted(0.8));
    prop::option::weighted(
        0.5,
        (
            rules,
            20_000..200_000u64,
            priorities,
            headroom,
            pause,
            prop_oneof![Just(None), Just(Some(256u16))],
        ),
    )
}

/// Reserves hold the largest frame, so that everything arrives in the end.
fn own_shares(from: u64) -> OwnShares {
    let mut own = OwnShares::default();
    let reserved = Some(9_500);
    own.groups[0] = GroupShare { alpha: Some(0.125), limit: None, reserved };
    own.groups[2] = GroupShare { alpha: None, limit: Some(9_500 + from), reserved };
    own.queues[1] = QueueShare { alpha: Some(0.0625), reserved };
    own.queues[2] = QueueShare { alpha: Some(3.0), reserved };
    own
}

/// Gives the plan's switches this memory. Returns whether nothing can be lost at ingress.
pub(super) fn set_memory(
    plan: &mut Plan,
    (rules, shared, priorities, headroom, (quanta, at_half, honours), cell): Managed,
) -> bool {
    let delay = |link: &Link| link.delay.0 + plan.hosts[0].delay.0 + plan.switches[0].latency.0;
    // The headroom is four of the largest frames, plus the data in flight in both directions. Cells
    // of 256 B take at most six times the bytes of a frame of 40 B.
    let needed = |link: &Link| {
        40_000
            + (2 * delay(link) as u128 * link.rate.0 as u128 / 8_000_000_000_000) as u64
            + crate::queue::flowcontrol::response_bytes(link.rate)
    };
    let enough = plan.topology.links.iter().map(needed).max().expect("links")
        * if cell.is_some() { 7 } else { 1 };
    let lossless = headroom.is_none()
        && priorities == 0xff
        && honours
        && match &rules {
            Rules::Sonic(rules) => rules.headroom_pool.is_none(),
            Rules::Conweave(_) => false,
            Rules::Hpcc(_) => true,
        };
    let switch = &mut plan.switches[0];
    switch.device_queue = 0;
    if switch.queue_length == QueueLength::ThroughStart {
        switch.queue_length = QueueLength::BeforeTransmission;
    }
    switch.pfc = (priorities != 0).then_some(Pfc {
        priorities,
        headroom: Headroom::Bytes(headroom.unwrap_or(enough)),
        pause: PauseTime::Quanta(quanta),
        refresh: if at_half { Refresh::AtHalf } else { Refresh::OnArrival },
        response: (quanta % 2 == 0).then_some(Span::from_ns(quanta as u64)),
        deadlock_after: Some(Span::from_us(40)),
        ..pfc(priorities)
    });
    switch.honours_pause = switch.pfc.is_some();
    plan.hosts[0].honours_pause = honours;
    switch.buffer = Buffer::Mmu(Mmu { total: 0, cell, bypass: 0, rules: rules.clone() });
    let aside = (plan.topology.hosts..plan.topology.nodes.len() as u32)
        .map(|node| crate::reserved_memory(plan, node))
        .map(|s| s.headroom + s.reserved);
    let total = aside.max().expect("switches") + shared;
    plan.switches[0].buffer = Buffer::Mmu(Mmu { total, cell, bypass: 0, rules });
    // A pause that expires before it is repeated does not protect from losses, and queues with
    // their own limits can lose frames.
    let limited =
        plan.hosts[0].queue.is_some() || plan.switches[0].own.iter().any(|own| own.limit.is_some());
    lossless && at_half && quanta == u16::MAX && !limited && plan.switches[0].aqm.is_none()
}

/// Gives the plan virtual output queues that pause, or that only obey pauses.
pub(super) fn deep_pauses(plan: &mut Plan, seed: u64) {
    let priorities = [0xff, 0b110, 0b1][(seed / 3 % 3) as usize];
    let pause = if (seed / 9).is_multiple_of(3) {
        PauseTime::Quanta(1 + (seed / 27 % 3_000) as u16)
    } else {
        PauseTime::Quanta(u16::MAX)
    };
    plan.switches[0].pfc = Some(Pfc {
        headroom: Headroom::Bytes(seed / 5 % 200_000),
        pause,
        refresh: if (seed / 7).is_multiple_of(2) { Refresh::AtHalf } else { Refresh::OnArrival },
        deadlock_after: Some(Span::from_us(40)),
        ..pfc(priorities)
    });
    plan.switches[0].honours_pause = !(seed / 11).is_multiple_of(4);
    plan.hosts[0].honours_pause = !(seed / 13).is_multiple_of(4);
}
