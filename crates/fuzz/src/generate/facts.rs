//! Properties of a generated scenario that restrict the choices for its other tables.

/// Kind of the transport of most of a scenario's traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Tcp,
    Mptcp,
    Rdma,
    Pfabric,
    Pdq,
    D3,
    Hull,
    Nack,
    Ndp,
    Datagram,
    Hadoop,
}

/// A transport of the scenario.
pub struct Named {
    /// Name of the transport. `None`: the default transport.
    pub name: Option<&'static str>,
    pub family: Family,
    pub facts: TransportFacts,
}

/// Flow control that the chosen RDMA mode requires from switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pauses {
    Any,
    /// Every switch needs flow control.
    Needed,
    /// Switches obey PAUSE frames of hosts.
    Obeyed,
}

/// Properties of a transport that its traffic depends on.
#[derive(Debug, Clone, Copy, Default)]
pub struct TransportFacts {
    /// Flows of this transport must be in a paused class (`Some(true)`), or must not be (`Some(false)`).
    pub paused: Option<bool>,
    /// Flows can follow each other on one connection.
    pub persistent: bool,
    /// True if the transport may run for ever, so that the scenario needs `run.until`.
    pub endless: bool,
}

/// The setup of RDMA, on which the settings of switches depend.
#[derive(Debug, Clone, Copy)]
pub struct RdmaPlan {
    pub mode: &'static str,
    pub pauses: Pauses,
    pub entropies: bool,
}

/// Settings of switches that restrict the choices for hosts and traffic.
#[derive(Debug, Clone, Default)]
pub struct SwitchFacts {
    /// Lossless priorities (PFC).
    pub paused: Vec<u64>,
    pub conweave: bool,
}
