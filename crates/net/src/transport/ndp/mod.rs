//! NDP: the first window at once, everything else when the receiver pulls it; switches cut data to headers instead of dropping them.

mod halves;
mod host;
mod keys;
mod receiver;
mod sender;

pub use halves::Halves;
pub use keys::{Keys, NdpConfig};
pub use receiver::{Puller, Receiver};
pub use sender::{Sender, Transmit};

use crate::Model;

/// The transport: see [`crate::transport::door`].
pub struct Ndp;

pub const MODEL: Model = Model {
    kind: "transport",
    name: "ndp",
    source: "Handley et al., SIGCOMM 2017; htsim (ndp.cpp)",
    faithful: "a first window at the rate of the NIC, without a handshake; every frame is acknowledged, every header answered negatively, at once; each of them earns its flow a pull; a host's pulls leave at the rate of its link, flows in turn, with the answer itself if none waits; pulls are numbered, so that a lost one is made up for by the next; what was trimmed goes before new data; once a flow's last frame or header is there, no more pulls wait for it than segments are missing; each frame takes a path of its own",
    simplified: "paths by a hash drawn anew for each frame (as htsim's rand, where its perm goes through all in turn); answers keep to one path and share the NIC's queue with data; no return to sender: lost headers and pulls are found by a time-out, after which everything outstanding is sent again, one by one as it is pulled; pulls that find nothing to send are kept for what turns out to be trimmed; no adaptation to oversubscribed fabrics",
};
