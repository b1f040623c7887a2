//! Errors of live mode.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// An option or the scenario asks for something impossible.
    #[error("{0}")]
    Wrong(String),
    /// The machine denies a capability: its name, its purpose, and a remedy.
    #[error("{what} is lacking, which {needed_for}: {how} ({source})")]
    Lacking { what: &'static str, needed_for: &'static str, how: &'static str, source: io::Error },
    #[error("{doing}: {source}")]
    System { doing: String, source: io::Error },
    #[error("{0}")]
    Run(#[from] afflux_net::RunError),
    /// [`Control::stop`](crate::Control::stop) was set during the set-up of hosts. Hosts that
    /// existed are removed.
    #[error("stopped while the real hosts were set up")]
    Stopped,
}

impl LiveError {
    pub(crate) fn system(doing: impl Into<String>) -> impl FnOnce(io::Error) -> LiveError {
        let doing = doing.into();
        |source| LiveError::System { doing, source }
    }

    /// Maps a permission error to `lacking`, and any other error to [`LiveError::System`].
    pub(crate) fn unless_permitted(
        lacking: crate::capability::Need,
        doing: &str,
    ) -> impl FnOnce(io::Error) -> LiveError {
        let doing = doing.to_string();
        move |source| match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => LiveError::Lacking {
                what: lacking.name,
                needed_for: lacking.needed_for,
                how: lacking.how,
                source,
            },
            _ => LiveError::System { doing, source },
        }
    }
}
