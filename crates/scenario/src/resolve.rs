//! The scenario with everything written out, and its hash.

use crate::document::{Document, Engine, Run, Sizes, Topology, Traffic};
use crate::inputs::hash_of;

/// TOML of a document whose defaults have been filled in.
pub fn text(document: &Document) -> Result<String, String> {
    toml::to_string(document).map_err(|error| error.to_string())
}

/// SHA-256 of what determines the results: without names, threads, which engine of packets, what is recorded, prices, and where inputs lie.
pub fn hash(document: &Document) -> Result<String, String> {
    let mut document = document.clone();
    document.name = None;
    document.description = None;
    document.record = Default::default();
    document.sonic = None;
    document.cost = None;
    // The engines of packets are alike, that of flows is another model.
    let engine = document.run.engine.filter(|engine| *engine == Engine::Ideal);
    document.run = Run { threads: None, engine, max_memory: None, ..document.run };
    if let Topology::Hpcc(hpcc) = &mut document.topology {
        hpcc.file.clear();
    }
    for block in &mut document.traffic {
        let sizes: Vec<&mut Sizes> = match block {
            Traffic::Flows(flows) => {
                flows.file.clear();
                continue;
            }
            Traffic::Random(random) => {
                if let Some(matrix) = &mut random.matrix {
                    matrix.clear();
                }
                vec![&mut random.sizes]
            }
            Traffic::Permutation(block) => vec![&mut block.sizes],
            Traffic::Pairs(block) => vec![&mut block.sizes],
            Traffic::AllToAll(block) => vec![&mut block.sizes],
            Traffic::PartitionAggregate(block) => [&mut block.query, &mut block.message, &mut block.background].into_iter().flatten().collect(),
            Traffic::HadoopTrace(trace) => {
                trace.file.clear();
                continue;
            }
            Traffic::Incast(_) | Traffic::DatagramSource(_) | Traffic::Hadoop(_) | Traffic::Background(_) => continue,
        };
        for sizes in sizes {
            if let Sizes::Table(table) = sizes
                && let Some(file) = &mut table.file
            {
                file.clear();
            }
        }
    }
    text(&document).map(|text| hash_of(&text))
}
