//! `[switch.mmu]`: ingress accounting.

use afflux_config::{Off, Or, Size, Speed, table};

table! {
    /// Accounting and limits of the memory management unit, with `sharing = "sonic"`, `"conweave"`
    /// or `"hpcc"`. Ingress is counted per port and priority (a priority group), egress per port
    /// and queue. `alpha` and `reserved` of `[switch]` apply to egress queues.
    #[derive(Default)]
    pub struct Mmu {
        /// Size of a memory cell. A frame takes whole cells, with 64 B of metadata in the first.
        /// `"off"` counts bytes, as the ns-3 simulators do. Default `"off"`; Trident 3 has
        /// `"256B"`, Trident 2 and Tomahawk `"208B"`.
        cell: Or<Off, Size>,
        /// Priorities that are neither counted nor limited. Default `[]`; ConWeave's ns-3 has `[0]`, for RDMA's acknowledgements.
        bypass: Vec<u8>,
        /// With `"sonic"`: a lossless priority group may hold `lossless_alpha` times the free ingress pool before it uses its headroom
        /// and is paused. Default 1 (SONiC's `dynamic_th` 0 on Trident 3).
        lossless_alpha: f64,
        /// With `"sonic"`: memory reserved for each lossless priority group. Default `"4608B"` (SONiC on Trident 3).
        lossless_reserved: Size,
        /// With `"sonic"`: a lossy priority group may hold this multiple of the free ingress pool,
        /// or `"off"` for no limit at ingress. Default `"off"`, as in SONiC on Trident 3.
        lossy_ingress_alpha: Or<Off, f64>,
        /// With `"sonic"`: memory for lossy queues. Default: 80 % of the memory without the headroom (TU Berlin's ns-3); SONiC has `"24192256B"` on Trident 3.
        lossy_pool: Size,
        /// With `"sonic"`: memory for the headroom of all priority groups together. Default: the sum of their headrooms; SONiC has `"2058240B"`
        /// on Trident 3, enough for 13 groups at once.
        headroom_pool: Size,
        /// With `"sonic"`: a paused group that holds less than this is resumed. Default `"4608B"` (SONiC on Trident 3).
        xon: Size,
        /// With `"sonic"` and `"hpcc"`: a paused group that has fallen this far below its threshold
        /// is resumed. Default `"4608B"` (SONiC on Trident 3), with `"hpcc"` `"3KiB"`.
        xon_offset: Size,
        /// With `"conweave"`: a priority group may hold this multiple of the free ingress pool before it is paused. Default 0.0625.
        ingress_alpha: f64,
        /// With `"conweave"`: guaranteed memory of each port and of each priority group. Default `"1048B"`.
        mtu: Size,
        /// With `"hpcc"`: at ports of `nic_rate` a priority group may hold 2^−`shift` of the free
        /// memory, and twice that for every doubling of the rate. Default 3.
        shift: u8,
        /// With `"hpcc"`: rate of the ports to which `shift` applies as it is. Default: the lowest
        /// rate of a host's link.
        nic_rate: Speed,
        /// With `"sonic"`: priority groups that differ from the others. In an override all of them are replaced. Default: none: all groups are alike.
        group: Vec<MmuGroup>,
    }

    /// Priority groups of every port that differ from the others: a profile of SONiC's BUFFER_PG.
    pub struct MmuGroup {
        /// Priorities (0 to 7) of the groups, each of which is the group of one priority at one port.
        pub priorities: Vec<u8>,
        /// A group may hold `alpha` times the free ingress pool (SONiC's `dynamic_th` n is 2^n). Default: `lossless_alpha`, or `lossy_ingress_alpha` for lossy
        /// priorities.
        alpha: f64,
        /// Fixed threshold instead of `alpha` (SONiC's `static_th`). Default: none: `alpha` decides.
        limit: Size,
        /// Memory reserved for each group. Default: `lossless_reserved`, or `"0B"` for lossy priorities.
        reserved: Size,
    }
}
