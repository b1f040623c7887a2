//! Capacity of compute nodes for tasks.

use afflux_config::keys::meaningless;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Size, keys};
use afflux_units::Bytes;

/// Capacity of a compute node for tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskCapacity {
    /// Number of maps and of reducers that run at a time. A job's master takes no slot.
    Slots { map: u32, reduce: u32 },
    /// Memory of a node in bytes, and sizes in bytes of the containers that share it.
    Memory { node: u64, map: u64, reduce: u64, master: u64 },
}

keys! {
    /// Capacity of compute nodes for containers.
    pub struct CapacityKeys as "HadoopCapacity" => Capacity of written {
        /// Memory for containers per compute node (`yarn.nodemanager.resource.memory-mb`).
        node_memory: Size as Option<u64> = {written.memory(8 << 30)} "`\"8GiB\"`", check |Size(size), key| written.unless_slots(size.0, key);
        /// Memory of a map's container (`mapreduce.map.memory.mb`).
        map_memory: Size as Option<u64> = {written.memory(1 << 30)} "`\"1GiB\"`", check |size, key| written.container(size, node_memory, key);
        /// Memory of a reducer's container (`mapreduce.reduce.memory.mb`).
        reduce_memory: Size as Option<u64> = {written.memory(1 << 30)} "`\"1GiB\"`", check |size, key| written.container(size, node_memory, key);
        /// Memory of the container of a job's master (`yarn.app.mapreduce.am.resource.mb`).
        master_memory: Size as Option<u64> = {written.memory(1_536 << 20)} "`\"1536MiB\"`", check |size, key| written.container(size, node_memory, key);
        /// Instead of memory: number of maps at a time per compute node. Needs `reduce_slots`.
        /// Default: none: memory limits them.
        map_slots: u32 = none, in 1 to 10000;
        /// Instead of memory: number of reducers at a time per compute node. Needs `map_slots`.
        /// Default: none: memory limits them.
        reduce_slots: u32 = none, in 1 to 10000;
    }
}

impl CapacityKeys {
    fn slots(&self) -> bool {
        self.map_slots.is_some() || self.reduce_slots.is_some()
    }

    /// Returns the default of a memory: `bytes`, unless slots are written.
    fn memory(&self, bytes: u64) -> Option<Size> {
        (!self.slots()).then_some(Size(Bytes(bytes)))
    }

    fn unless_slots(&self, bytes: u64, key: Key) -> Result<u64, Wrong> {
        if self.slots() { Err(meaningless(key, "map_slots and reduce_slots")) } else { Ok(bytes) }
    }

    /// Checks the memory of a container, which must fit into that of a node.
    fn container(&self, Size(size): Size, node: Option<u64>, key: Key) -> Result<u64, Wrong> {
        let node = node.unwrap_or(u64::MAX);
        match self.unless_slots(size.0, key.clone())? {
            0 => Err(Wrong::at(key, "\"0B\": write a size above 0")),
            bytes if bytes > node => {
                let what = format!("\"{size}\" does not fit node_memory = \"{}\"", Bytes(node));
                Err(Wrong::at(key, what))
            }
            bytes => Ok(bytes),
        }
    }

    pub(super) fn tasks(&mut self, key: &Key) -> Result<TaskCapacity, Wrong> {
        let c = self.resolve(key)?;
        let missing = |name: &str| {
            let what =
                format!("{name} is missing: write both map_slots and reduce_slots, or neither");
            Err(Wrong::at(key.clone(), what))
        };
        match (c.map_slots, c.reduce_slots) {
            (Some(map), Some(reduce)) => Ok(TaskCapacity::Slots { map, reduce }),
            (None, Some(_)) => missing("map_slots"),
            (Some(_), None) => missing("reduce_slots"),
            (None, None) => {
                let bytes = |memory: Option<u64>| memory.expect("filled in without slots");
                Ok(TaskCapacity::Memory {
                    node: bytes(c.node_memory),
                    map: bytes(c.map_memory),
                    reduce: bytes(c.reduce_memory),
                    master: bytes(c.master_memory),
                })
            }
        }
    }
}
