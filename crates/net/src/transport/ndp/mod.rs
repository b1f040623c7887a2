//! NDP: the sender sends a first window at once, and then one frame per pull of the receiver.
//! Switches trim data to headers instead of dropping them.

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
    faithful: "a first window at the rate of the NIC, without a handshake; the receiver acknowledges every frame and negatively acknowledges every \
               trimmed header, at once; each arrival earns its flow a pull; a host's pulls leave at the rate of its link, flows in turn; if no pull \
               waits, the answer itself is the pull; pulls are numbered, so the next pull replaces a lost one; trimmed segments take precedence over new \
               data; once a flow's last frame or header has arrived, no more pulls wait for the flow than segments are missing; each frame takes its own \
               path",
    simplified: "paths by a hash drawn anew for each frame (as htsim's rand, where its perm goes through all in turn); the frames of the receiver keep to \
                 one path and share the NIC's queue with data; no return to sender: lost headers are found by a time-out, after which \
                 everything outstanding is sent again, one by one as it is pulled; a sender that waits for a pull takes it for lost after four times the \
                 longest wait so far (32 time-outs before the second pull); a pull that finds nothing to send is kept for segments that turn out \
                 to be trimmed; no adaptation to oversubscribed fabrics",
};
