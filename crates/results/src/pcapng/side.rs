//! The two sides of a connection.

use afflux_net::record::CaptureRecord;

/// Side of a connection that sends a frame: the host that opens the connection, or the host that
/// answers.
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
