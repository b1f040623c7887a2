//! Generates the flows of a simulation: flow-size distributions, arrival processes, definitions of
//! load, traffic patterns, and readers of flow lists and of other tools' traffic files. All
//! generators and readers return [`Generated`]: flows sorted by their start, the jobs they belong
//! to, and notes for the user.
//!
//! # From a `[[traffic]]` block to flows
//! ```
//! use afflux_traffic::{Arrivals, Capacity, Destinations, Draws, LoadBasis, Random, SizeDistribution, Stop, Template, Generated};
//! use afflux_units::{Rate, Span, Time};
//!
//! let sizes = SizeDistribution::named("alistorage")?;
//! let capacity = Capacity::new(16, Rate::from_gbps(100));
//! let rate = LoadBasis::HostPayload.flows_per_second(0.5, &capacity, &sizes)?; // per host
//! let hosts: Vec<u32> = (0..16).collect();
//! let pattern = Random {
//!     sources: hosts.clone(),
//!     destinations: hosts,
//!     choice: Destinations::Uniform,
//!     sizes,
//!     arrivals: Arrivals::Poisson,
//!     flows_per_second: rate,
//!     weights: None,
//!     start: Time::ZERO,
//!     stop: Stop::after(Span::from_ms(1)),
//! };
//! // The draws of a block depend only on the seed and the block's name.
//! let background = pattern.generate(&Template::default(), &Draws::new(1, "background"))?;
//! // Several blocks become one list: jobs and groups are renumbered, flows sorted, identifiers made unique.
//! let all = Generated::merge(vec![background])?;
//! assert!(all.flows.len() > 1_000);
//! # Ok::<(), afflux_traffic::TrafficError>(())
//! ```
//!
//! # Randomness
//! Each host (or pair, or round) has its own streams for gaps, sizes and destinations
//! ([`purpose`]). Adding a host, a block or a thread, or changing the switch, therefore changes no
//! other draw. Two designs under comparison see identical traffic.
//!
//! # Times
//! Starts are whole nanoseconds, because results contain `start_ns`. Clocks run in picoseconds and
//! are rounded once per start.

mod arrivals;
mod classes;
mod deadlines;
mod error;
mod flow_list;
mod generated;
pub mod hadoop;
mod import;
mod load;
mod models;
pub mod names;
mod patterns;
pub mod purpose;
mod racks;
mod sizes;
mod spelling;
mod text;

pub use arrivals::{ArrivalTimes, Arrivals};
pub use classes::Classes;
pub use deadlines::Deadlines;
pub use error::{InputError, Place, TrafficError};
pub use flow_list::{
    FlowColumns, FlowListOptions, HostColumn, LocalFlows, from_columns, read_csv, read_csv_from,
};
pub use generated::{Generated, JOB_SEPARATOR, Job, JobKind, Template};
pub use import::capture::{self, Captured, CapturedFlow};
pub use import::coflow::{self, CoflowOptions, Placement};
pub use import::hpcc::{self, HpccOptions};
pub use import::matrix::{self, MatrixOptions};
pub use load::{Capacity, Channel, Framing, LoadBasis};
pub use models::models;
pub use patterns::all_to_all::{AllToAll, Stagger};
pub use patterns::bulk::Bulk;
pub use patterns::constant::ConstantRate;
pub use patterns::destinations::Destinations;
pub use patterns::incast::{Incast, IncastSize, Loop, Receiver, Senders};
pub use patterns::pairs;
pub use patterns::partition_aggregate::{BackgroundFlows, PartitionAggregate};
pub use patterns::random::{Random, Stop};
pub use patterns::shares::Shares;
pub use patterns::spatial::SpatialMatrix;
pub use purpose::Draws;
pub use racks::Racks;
pub use sizes::{FileOptions, SizeDistribution};
pub use spelling::nearest;
pub use text::{MAX_UNPACKED, most_of, most_unpacked, too_much_unpacked};
