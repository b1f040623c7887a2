//! Tests of the bounds: a frame within them is taken without headroom and without a PAUSE, whatever
//! else is in the memory.

use super::*;
use crate::spec::{self, ConweaveRules, GroupShare, HpccRules, OwnShares, QueueShare, SonicRules};
use afflux_engine::random::Stream;
use afflux_units::Rate;

const PORTS: u32 = 4;
const ALPHAS: [f64; 6] = [0.0, 0.0625, 0.25, 1.0, 8.0, 1_024.0];

fn below(stream: &mut Stream, most: u64) -> u64 {
    stream.below(most.max(1))
}

fn pick<T: Copy>(stream: &mut Stream, some: &[T]) -> T {
    some[stream.below(some.len() as u64) as usize]
}

fn sonic(stream: &mut Stream, total: u64) -> spec::Rules {
    let mut own = OwnShares::default();
    for class in 0..CLASSES {
        own.groups[class] = match stream.below(4) {
            0 => GroupShare {
                alpha: Some(pick(stream, &ALPHAS)),
                limit: None,
                reserved: Some(below(stream, 20_000)),
            },
            1 => GroupShare { alpha: None, limit: Some(below(stream, total / 2)), reserved: None },
            _ => GroupShare::default(),
        };
        own.queues[class] = match stream.below(3) {
            0 => QueueShare {
                alpha: Some(pick(stream, &ALPHAS)),
                reserved: Some(below(stream, 20_000)),
            },
            _ => QueueShare::default(),
        };
    }
    spec::Rules::Sonic(SonicRules {
        alpha: pick(stream, &ALPHAS),
        reserved: below(stream, 5_000),
        lossy_ingress_alpha: (stream.below(2) == 0).then(|| pick(stream, &ALPHAS)),
        lossy_alpha: pick(stream, &ALPHAS),
        queue_reserved: below(stream, 5_000),
        lossy_pool: (stream.below(2) == 0).then_some(total / 2),
        headroom_pool: Some(total / 8),
        xon: 1_500,
        xon_offset: 1_500,
        own: Box::new(own),
    })
}

fn drawn(stream: &mut Stream) -> Mmu {
    let total = 1_000_000 + below(stream, 8_000_000);
    let rules = match stream.below(3) {
        0 => sonic(stream, total),
        1 => spec::Rules::Conweave(ConweaveRules {
            ingress_alpha: pick(stream, &ALPHAS),
            egress_alpha: pick(stream, &ALPHAS),
            mtu: 1_048,
        }),
        _ => spec::Rules::Hpcc(HpccRules {
            shift: stream.below(4) as u8,
            nic_rate: Rate::from_gbps(25),
            reserved: below(stream, 5_000),
            resume_offset: 3_000,
        }),
    };
    let cell = (stream.below(3) == 0).then_some(208);
    let lossless = stream.below(256) as u8;
    Mmu::new(
        &spec::Mmu { total, cell, bypass: 0, rules },
        lossless,
        vec![10_000; PORTS as usize],
        &[25_000_000_000; PORTS as usize],
    )
}

/// Draws a frame; `None` unless its class is in `classes`.
fn frame(stream: &mut Stream, mmu: &Mmu, classes: u8) -> Option<Charge> {
    let class = stream.below(CLASSES as u64) as u8;
    let (input, output, queue) = (
        stream.below(PORTS as u64) as u32,
        stream.below(PORTS as u64) as u32,
        stream.below(CLASSES as u64) as u8,
    );
    let size = mmu.size_of(64 + below(stream, 9_000), class);
    (classes >> class & 1 != 0).then(|| Charge::new(size, input, output, class, queue))
}

#[test]
fn bounds_admit_only_what_the_rules_take() {
    let (mut within, mut beyond) = (0, 0);
    for seed in 0..600 {
        let mut stream = Stream::new(seed, 1, 1);
        let mut mmu = drawn(&mut stream);
        let mut held: Vec<Charge> = Vec::new();
        let fill = stream.below(900);
        for step in 0..1_000 {
            if step > fill && stream.below(2) == 0 && !held.is_empty() {
                let gone = held.swap_remove(stream.below(held.len() as u64) as usize);
                mmu.release(&gone);
            } else if let Some(charge) = frame(&mut stream, &mmu, 0xff)
                && is_safe(mmu.answer(&charge))
            {
                mmu.charge(&charge, false);
                held.push(charge);
            }
            if step % 50 != 0 {
                continue;
            }
            let level = mmu.used() + below(&mut stream, 500_000);
            for lossless in [false, true] {
                let Some(bounds) = mmu.bounds(level, lossless) else { continue };
                assert!(bounds.used <= level);
                let classes = if lossless { mmu.lossless } else { !mmu.lossless };
                for _ in 0..40 {
                    let Some(charge) = frame(&mut stream, &mmu, classes) else { continue };
                    let group = mmu.groups[charge.group as usize].bytes + charge.size;
                    let queue = mmu.queues[charge.queue as usize] + charge.size;
                    let answer = mmu.answer(&charge);
                    if mmu.used() + charge.size <= bounds.used
                        && group <= bounds.group
                        && queue <= bounds.queue
                    {
                        assert_eq!(
                            answer, PLAIN,
                            "seed {seed}, step {step}: {bounds:?} {charge:?}"
                        );
                        within += 1;
                    } else {
                        beyond += u64::from(answer != PLAIN);
                    }
                }
            }
        }
    }
    assert!(
        within > 10_000 && beyond > 1_000,
        "{within} frames within bounds, {beyond} beyond them that the rules do not take"
    );
}
