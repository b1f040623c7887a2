//! Models of this crate in `afflux models`.

use afflux_net::Model;

const fn model(
    kind: &'static str,
    name: &'static str,
    source: &'static str,
    faithful: &'static str,
    simplified: &'static str,
) -> Model {
    Model { kind, name, source, faithful, simplified }
}

const SIZES: &str = "flow sizes";
const ARRIVALS: &str = "arrivals";
const DEADLINES: &str = "deadlines";
const LOAD: &str = "load basis";

/// Text about distributions that are given by published points.
const POINTS: &str =
    "the published points, straight lines between them as in the authors' generators";
const BYTES: &str = "sizes are rounded to whole bytes, at least one";
const PACKETS: &str = "none: sizes are rounded up to whole packets of 1460 B as the scripts do";

const MODELS: &[Model] = &[
    model(SIZES, "alistorage", "Alibaba storage 2019; HPCC and ConWeave generators", POINTS, BYTES),
    model(SIZES, "solar", "Alibaba Solar RPC 2022; ConWeave generator", POINTS, BYTES),
    model(SIZES, "websearch", "DCTCP, SIGCOMM'10; HPCC generator", POINTS, BYTES),
    model(SIZES, "datamining", "VL2, SIGCOMM'09; ConWeave workloads (7 points)", POINTS, BYTES),
    model(
        SIZES,
        "fbhdp-20",
        "Facebook Hadoop, SIGCOMM'15; HPCC generator (20 points)",
        POINTS,
        BYTES,
    ),
    model(
        SIZES,
        "pfabric-websearch",
        "DCTCP's web search as in pFabric, SIGCOMM'13; ns-2 scripts",
        POINTS,
        PACKETS,
    ),
    model(
        SIZES,
        "pfabric-datamining",
        "VL2's data mining as in pFabric, SIGCOMM'13; ns-2 scripts",
        POINTS,
        PACKETS,
    ),
    model(SIZES, "imc10", "Benson et al., IMC'10, as in pHost, CoNEXT'15; yaps", POINTS, PACKETS),
    model(
        SIZES,
        "file",
        "files of the HPCC, ConWeave, ns-2 and Parsimon generators",
        "jumps, gaps, a first share above 0",
        BYTES,
    ),
    model(SIZES, "fixed", "-", "every flow has the size", "none"),
    model(SIZES, "uniform", "-", "whole bytes, both ends included", "none"),
    model(SIZES, "exponential", "-", "inverse of the distribution function", BYTES),
    model(
        ARRIVALS,
        "poisson",
        "HPCC and ConWeave generators: -ln(1-u)/rate",
        "independent clocks per host (the same process as one per pair)",
        "starts are rounded to nanoseconds",
    ),
    model(
        ARRIVALS,
        "lognormal",
        "Parsimon, NSDI'23: sigma 1 or 2",
        "mean kept for every sigma; the process has begun long before the start, so that its rate holds from there",
        "one clock per host instead of one for all",
    ),
    model(
        ARRIVALS,
        "fixed",
        "-",
        "equal gaps, in step or with a random phase per host",
        "starts are rounded to nanoseconds",
    ),
    model(
        DEADLINES,
        "exponential",
        "D3, SIGCOMM'11, and PDQ, SIGCOMM'12 (mean 20 ms, at least 3 ms); from memory, the papers were not at hand",
        "exponential, what is drawn below the floor counts as the floor; each source draws by itself",
        "deadlines do not depend on sizes: a large flow may have one that cannot be met",
    ),
    model(
        LOAD,
        "host_payload",
        "HPCC generator",
        "rate = load*C/(8*E[S]), payload only, traffic within racks included",
        "none",
    ),
    model(
        LOAD,
        "host_wire",
        "pFabric family's ns-2 scripts",
        "headers of every frame count (1500/1460 for whole packets)",
        "acknowledgements do not count; the mean is that of the distribution, where the scripts round it (1138 packets for web search)",
    ),
    model(
        LOAD,
        "fabric_oversub",
        "ConWeave run.py; ABM and Reverie",
        "rate = load*C/(oversubscription*8*E[S])",
        "as if all traffic left its rack, as theirs",
    ),
    model(
        LOAD,
        "bisection",
        "CONGA, SIGCOMM'14",
        "rate = 2*load*B/(hosts*8*E[S])",
        "as if all traffic crossed the bisection",
    ),
    model(
        LOAD,
        "max_link",
        "Parsimon, NSDI'23",
        "the most loaded channel carries the load, payload only",
        "the share of a channel is expected, not that of a sample of flows",
    ),
];

/// Returns one row for each distribution, arrival process and load basis.
pub fn models() -> Vec<Model> {
    MODELS.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadBasis, SizeDistribution};

    #[test]
    fn nothing_is_left_out_or_named_twice() {
        let has = |kind: &str, name: &str| {
            models().iter().filter(|model| model.kind == kind && model.name == name).count() == 1
        };
        assert!(SizeDistribution::names().into_iter().all(|name| has(SIZES, name)));
        assert!(LoadBasis::ALL.into_iter().all(|basis| has(LOAD, basis.name())));
        assert!(models().iter().all(|model| has(model.kind, model.name)));
    }
}
