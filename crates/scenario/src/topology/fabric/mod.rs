//! Kinds of fabric. Each is a file with its keys, its builder and its row of `afflux models`.

mod bcube;
mod custom;
mod dragonfly;
mod dual_homed_fat_tree;
mod dumbbell;
mod fat_tree;
mod hpcc;
mod kind;
mod leaf_spine;
mod star;
mod vl2;

use super::written::{ChangeKeys, Fault};
use afflux_config::tagged;
use afflux_net::Model;

pub use kind::{Fabric, Site};

/// The kinds of fabric. Each line gives a file (which is the name in scenarios) and the same name
/// in camel case.
macro_rules! fabrics {
    ($with:ident) => {
        $with! {
            /// All hosts on one switch (`switch0`).
            star Star;
            /// Pairs of hosts over one bottleneck link between the switches `left` and `right`.
            dumbbell Dumbbell;
            /// Racks of hosts under leaf switches (`leaf0` …), each linked to every spine switch (`spine0` …).
            leaf_spine LeafSpine;
            /// Al-Fares's three-stage Clos of k-port switches (`edge0` …, `agg0` …, `core0` …).
            fat_tree FatTree;
            /// A FatTree whose hosts have two NICs, at two edge switches (Raiciu et al. 2011).
            dual_homed_fat_tree DualHomedFatTree;
            /// VL2's folded Clos (`tor0` …, `agg0` …, `int0` …; Greenberg et al. 2009).
            vl2 Vl2;
            /// BCube's servers of several NICs that forward for each other, on levels of small switches (`level0_0` …; Guo et al. 2009).
            bcube Bcube;
            /// A dragonfly: groups of routers in full mesh, one link between any two groups (`router0` …; Kim et al. 2008).
            dragonfly Dragonfly;
            /// A topology file of HPCC or ConWeave.
            hpcc Hpcc;
            /// Any fabric, written link by link.
            custom Custom;
        }
    };
}

macro_rules! registry {
    ($($(#[doc = $doc:literal])* $module:ident $name:ident;)+) => {
        tagged! {
            /// The fabric, chosen by `kind`.
            pub enum Topology, default "" {
                $($(#[doc = $doc])* $module $name($module::Keys),)+
            }
        }

        impl Topology {
            pub fn fabric(&mut self) -> &mut dyn Fabric {
                match self {
                    $(Topology::$name(keys) => keys,)+
                }
            }

            /// Returns the faults of links.
            pub fn faults(&self) -> &[Fault] {
                let changes = match self {
                    $(Topology::$name(keys) => &keys.changes,)+
                };
                changes.faults.as_deref().unwrap_or_default()
            }

            /// Returns the changes to single links.
            pub fn changes(&mut self) -> &mut ChangeKeys {
                match self {
                    $(Topology::$name(keys) => &mut keys.changes,)+
                }
            }
        }

        pub const MODELS: &[Model] = &[$($module::MODEL),+];
    };
}
fabrics!(registry);
