//! Rules by which marks between the thresholds are spaced: `spacing` of `[switch.ecn]`.

mod independent;
mod linux;
mod ns2;
mod ns3;
pub mod rule;
#[cfg(test)]
#[allow(dead_code, reason = "compiled so that copies of it compile")]
mod template;
mod uniform;

use afflux_config::words;
use rule::Rule;

/// The rules that `spacing` names. Each line gives a file (which is the name in scenarios) and the
/// same name in camel case.
macro_rules! spacings {
    ($with:ident) => {
        $with! {
            /// Marks each frame independently, with the probability p of the curve.
            independent Independent;
            /// Marks with probability p / (1 − count · p), where `count` is the number of frames
            /// since the last mark. Spacings are then uniform, up to 1/p (Floyd and Jacobson 1993).
            uniform Uniform;
            /// Default of ns-3 (`Wait`): no mark before 1/p frames, then with probability p / (2 −
            /// count · p), so that spacings are uniform from 1/p to 2/p. No mark while the queue
            /// holds at most one packet (thresholds in packets) or nothing (in bytes), nor for the
            /// first frame after that. A mark above `kmax` leaves the count as it is. A frame that
            /// ends an idle period also counts in the average.
            ns3 Ns3;
            /// Default of ns-2 (`wait_`, `use_mark_p_`): like `"ns3"`, with two differences above
            /// `kmax`. The first frame after a queue below `kmin` is not marked either. Each mark
            /// starts the count anew.
            ns2 Ns2;
            /// Linux: draws one number R per mark, uniform in 0 to 1, and marks the first frame
            /// with count · p ≥ R.
            linux Linux;
        }
    };
}

macro_rules! registry {
    ($($(#[doc = $doc:literal])* $module:ident $name:ident;)+) => {
        words! {
            /// Random spacing of the marks between `kmin` and `kmax`.
            pub enum Spacing {
                $($(#[doc = $doc])* $name,)+
            }
        }

        impl Spacing {
            pub const ALL: &[Spacing] = &[$(Spacing::$name),+];

            pub fn rule(self) -> &'static dyn Rule {
                match self {
                    $(Spacing::$name => &$module::$name,)+
                }
            }
        }
    };
}
spacings!(registry);
