//! The kinds of buffer memory.

use super::mmu::policy::About;
use super::mmu::{Kind, memories};
use crate::queue::flowcontrol::keys::Formula;
use afflux_config::words;

/// How a kind of memory is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Each queue has its own limit.
    PerQueue,
    /// All queues share one memory with dynamic thresholds.
    Shared,
    /// Virtual output queues.
    Voq,
    /// No limit.
    Unlimited,
    /// A memory management unit.
    Managed,
}

macro_rules! registry {
    ($($(#[doc = $doc:literal])* $module:ident $name:ident($keys:ident, $rules:ident);)+) => {
        words! {
            /// Rules by which queues share the buffer.
            pub enum Sharing {
                /// Every queue has its own limit.
                Static,
                /// One memory with a dynamic threshold.
                Dynamic,
                /// Virtual output queues in on-chip memory and DRAM: a deep-buffer switch, see `voq`.
                Voq,
                /// A queue has no limit, so no frame is dropped for lack of memory.
                Unlimited,
                $($(#[doc = $doc])* $name,)+
            }
        }

        impl Sharing {
            const ALL: &[(Sharing, &str, Form)] = &[
                $((Sharing::$name, stringify!($module), Form::Managed),)+
                (Sharing::Static, "static", Form::PerQueue),
                (Sharing::Dynamic, "dynamic", Form::Shared),
                (Sharing::Voq, "voq", Form::Voq),
                (Sharing::Unlimited, "unlimited", Form::Unlimited),
            ];

            /// Returns the kind of memory management unit; `None` for other kinds of memory.
            pub fn managed(self) -> Option<Kind> {
                match self {
                    $(Sharing::$name => Some(Kind::$name),)+
                    _ => None,
                }
            }
        }
    };
}
memories!(registry);

impl Sharing {
    /// Returns the first kind of this form.
    pub fn of(form: Form) -> Sharing {
        Sharing::ALL.iter().find(|kind| kind.2 == form).expect("every form has a kind").0
    }

    /// Returns the properties of a memory management unit; `None` for other kinds of memory.
    pub fn about(self) -> Option<&'static About> {
        self.managed().map(Kind::about)
    }

    fn row(self) -> &'static (Sharing, &'static str, Form) {
        Sharing::ALL.iter().find(|kind| kind.0 == self).expect("every kind has a row")
    }

    /// Returns the names of the kinds for which `is` is true.
    pub fn names(is: impl Fn(Sharing) -> bool) -> impl Iterator<Item = &'static str> {
        Sharing::ALL.iter().filter(move |kind| is(kind.0)).map(|kind| kind.1)
    }

    pub fn form(self) -> Form {
        self.row().2
    }

    /// Returns the key and value that select this kind of memory, for messages.
    pub fn word(self) -> String {
        format!("sharing = \"{}\"", self.row().1)
    }

    /// Returns the usual size of the whole buffer, alpha, and reserved bytes. `None`: the key has no
    /// effect with this kind of memory.
    pub fn usual(self) -> (Option<u64>, Option<f64>, Option<u64>) {
        match (self.about(), self.form()) {
            (Some(about), _) => (Some(about.total), about.alpha, about.reserved),
            (None, Form::Shared) => (Some(32_000_000), Some(1.0), Some(0)),
            (None, _) => (None, None, None),
        }
    }

    /// Returns the usual formula of the headroom.
    pub fn formula(self) -> Formula {
        self.about().map_or(Formula::Sonic, |about| about.formula)
    }

    /// True if frames are counted at ingress, as PFC needs.
    pub fn counts_ingress(self) -> bool {
        matches!(self.form(), Form::Managed | Form::Voq)
    }
}
