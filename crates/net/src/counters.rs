//! Totals of a run.

/// Declares counters, and groups of counters behind them.
macro_rules! counters {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$note:meta])* $key:ident,)+ $([$group:ident: $groups:ty])* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $name {
            $($(#[$note])* pub $key: u64,)+
            $(pub $group: $groups,)*
        }

        impl $name {
            /// All by name, but for those in groups.
            pub fn list(&self) -> [(&'static str, u64); [$(stringify!($key)),+].len()] {
                [$((stringify!($key), self.$key)),+]
            }

            pub fn add(&mut self, other: &$name) {
                $(self.$key += other.$key;)+
                $(self.$group.add(&other.$group);)*
            }
        }
    };
}
pub(crate) use counters;
