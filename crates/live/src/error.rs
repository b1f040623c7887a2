//! What can be wrong or lacking.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// An option or the scenario asks for what cannot be.
    #[error("{0}")]
    Wrong(String),
    /// The machine does not let us: what, what it is needed for, and what helps.
    #[error("{what} is lacking, which {needed_for}: {how} ({source})")]
    Lacking { what: &'static str, needed_for: &'static str, how: &'static str, source: io::Error },
    #[error("{doing}: {source}")]
    System { doing: String, source: io::Error },
    #[error("{0}")]
    Run(#[from] afflux_net::RunError),
    /// [`Control::stop`](crate::Control::stop) was set while hosts were made; those that were there are gone.
    #[error("stopped while the real hosts were set up")]
    Stopped,
}

impl LiveError {
    pub(crate) fn system(doing: impl Into<String>) -> impl FnOnce(io::Error) -> LiveError {
        let doing = doing.into();
        |source| LiveError::System { doing, source }
    }

    /// Turns a refusal into `lacking`, and anything else into what was being done.
    pub(crate) fn unless_permitted(lacking: crate::capability::Need, doing: &str) -> impl FnOnce(io::Error) -> LiveError {
        let doing = doing.to_string();
        move |source| match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => LiveError::Lacking { what: lacking.name, needed_for: lacking.needed_for, how: lacking.how, source },
            _ => LiveError::System { doing, source },
        }
    }
}
