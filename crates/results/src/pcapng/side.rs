//! The two sides of a connection.

use afflux_net::record::CaptureRecord;

/// The side of a connection that a frame comes from: the host that asks for the connection, or the one that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    Asks,
    Answers,
}

impl Side {
    pub fn of(record: &CaptureRecord) -> Side {
        if record.answer { Side::Answers } else { Side::Asks }
    }
    pub fn other(self) -> Side {
        match self {
            Side::Asks => Side::Answers,
            Side::Answers => Side::Asks,
        }
    }
}
