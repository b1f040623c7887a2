//! Defines structures of counters for the totals of a run.

/// Declares a structure of counters, which can contain groups of other counters.
macro_rules! counters {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$note:meta])* $key:ident,)+ $([$group:ident: $groups:ty])* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $name {
            $($(#[$note])* pub $key: u64,)+
            $(pub $group: $groups,)*
        }

        impl $name {
            /// Returns all counters with their names, except those in groups.
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
