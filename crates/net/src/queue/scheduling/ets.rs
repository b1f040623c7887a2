//! Enhanced transmission selection (ETS): shares of the bandwidth that the strict classes leave.

use super::about::{About, Classes, Served, Service, Share};
use crate::Model;

/// Sets the quanta of the queues that have a percentage: the smallest percentage gets `quantum`
/// bytes per turn, the others a proportional amount. Returns the credit per byte that makes the
/// shares exact.
pub fn grant(classes: &Classes, quantum: &mut [u64; 8]) -> u64 {
    let percents =
        classes.service.iter().enumerate().filter_map(|(queue, service)| match service {
            Service::Bandwidth(percent) => Some((queue, *percent as u64)),
            _ => None,
        });
    let Some(least) = percents.clone().map(|(_, percent)| percent).min() else { return 1 };
    for (queue, percent) in percents {
        quantum[queue] = percent * classes.quantum as u64;
    }
    least
}

pub const ABOUT: About = About {
    model: MODEL,
    served: Served::Shares(Share {
        key: "bandwidth",
        example: "bandwidth = \"50%\"",
        percent: true,
    }),
};

const MODEL: Model = Model {
    kind: "scheduling",
    name: "ets",
    source: "IEEE 802.1Qaz (802.1Q clause 37): strict classes, then bandwidth in percent of what they leave",
    faithful: "strict classes first; the other classes share the remaining bandwidth exactly in proportion to their percentages; bandwidth that a class \
               does not use goes to the others in the same proportion",
    simplified: "by deficit round robin (the standard leaves the algorithm open); no DCBX negotiation",
};
