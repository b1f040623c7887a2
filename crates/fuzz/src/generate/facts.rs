//! Facts of a scenario that decide what its other tables may say.

/// The kind of most of a scenario's traffic.
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
    /// `None`: the default.
    pub name: Option<String>,
    pub family: Family,
    pub facts: TransportFacts,
}

/// Flow control that the mode of RDMA asks of switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pauses {
    Any,
    /// Every switch needs flow control.
    Needed,
    /// Switches stop when hosts tell them to.
    Obeyed,
}

/// Properties of a transport that its traffic depends on.
#[derive(Debug, Clone, Copy, Default)]
pub struct TransportFacts {
    /// Flows of this transport must be in a paused class (`Some(true)`), or must not be (`Some(false)`).
    pub paused: Option<bool>,
    /// Flows can follow each other on one connection.
    pub persistent: bool,
    /// The transport may go on for ever, so that the scenario needs `run.until`.
    pub endless: bool,
}

/// The setup of RDMA, on which the settings of switches depend.
#[derive(Debug, Clone, Copy)]
pub struct RdmaPlan {
    pub mode: &'static str,
    pub pauses: Pauses,
    pub entropies: bool,
}
