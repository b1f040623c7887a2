"""Notes every field of the tables that was not used, with its meaning."""

from collections.abc import Mapping

from .ports import WHOLE
from .reading import Reading
from .tables import LAYOUTS

_SHAPER = "a shaper, which afflux does not have: the queue or port sends at the link's rate"
_COLOURS = "all frames are green in afflux"
_REMARKS = "frames keep their DSCP on the whole path"
_LABELS = "classes come from DSCPs alone"

_SHAPES = ("cir", "cbs", "pir", "pbs", "meter_type")

#: Reasons why fields are left out, by table and field; `""` for the other fields of the table.
_WHY: Mapping[str, Mapping[str, str]] = {
    "BUFFER_POOL": {
        "percentage": "a share of the memory that the switch computes: write [switch] buffer",
        "": "no priority group or lossy queue takes memory from this pool",
    },
    "BUFFER_PROFILE": {
        "headroom_type": "the profile says xoff itself, or is not lossless",
        "xoff": "for lossless priority groups only",
        "xon": "for lossless priority groups only",
        "xon_offset": "for lossless priority groups only",
        "": "no priority group or queue of the files that counts here has this profile",
    },
    "BUFFER_PG": {"": "its profile is not in the files"},
    "BUFFER_QUEUE": {"": "its profile is not in the files"},
    "BUFFER_PORT_INGRESS_PROFILE_LIST": {
        "": "limits per port, which are not modelled; they are kept for export"
    },
    "BUFFER_PORT_EGRESS_PROFILE_LIST": {
        "": "limits per port, which are not modelled; they are kept for export"
    },
    "CABLE_LENGTH": {
        "": "headroom is not computed from the cable's length here: the profile has xoff, or nothing is lossless"
    },
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER": {
        "over_subscribe_ratio": "the switch computes the size of the shared headroom pool: write headroom_pool in [switch.mmu]",
        "": "for computed profiles (NULL) without an alpha of their own, which are not in use",
    },
    "LOSSLESS_TRAFFIC_PATTERN": {"": "for computed headroom, which is not in use"},
    "DSCP_TO_TC_MAP": {"": "no port that counts here refers to this map"},
    "DSCP_TO_FC_MAP": {"": "forwarding classes choose tunnels, which afflux does not have"},
    "DOT1P_TO_TC_MAP": {"": _LABELS},
    "MPLS_TC_TO_TC_MAP": {"": _LABELS},
    "TC_TO_QUEUE_MAP": {"": "no port that counts here refers to this map"},
    "TC_TO_PRIORITY_GROUP_MAP": {"": "no port that counts here refers to this map"},
    "TC_TO_DSCP_MAP": {"": _REMARKS},
    "MAP_PFC_PRIORITY_TO_QUEUE": {"": "no port that counts here refers to this map"},
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": {"": "no port that counts here refers to this map"},
    "SCHEDULER": {
        **dict.fromkeys(_SHAPES, _SHAPER),
        "priority": "an order among schedulers, which no queue of afflux has",
        "weight": "a strict scheduler has none",
        "": "no queue has this scheduler",
    },
    "QUEUE": {"": "the table that it refers to is not in the files"},
    "WRED_PROFILE": {
        **{
            name: _COLOURS
            for name in LAYOUTS["WRED_PROFILE"].fields
            if "yellow" in name or "red" in name.split("_")
        },
        "": "no queue that counts here has this profile",
    },
    "PORT_QOS_MAP": {
        "dot1p_to_tc_map": _LABELS,
        "mpls_tc_to_tc_map": _LABELS,
        "dscp_to_fc_map": "forwarding classes choose tunnels, which afflux does not have",
        "tc_to_dscp_map": _REMARKS,
        "scheduler": "a shaper of the port, which afflux does not have: it sends at the link's rate",
        "pfcwd_sw_enable": "no PFC_WD is in the files: the watchdog is off",
        "": "the table that it refers to is not in the files",
    },
    "PFC_WD": {
        "BIG_RED_SWITCH": "a mode for tests",
        "pfc_stat_history": "counters only",
        "": "for ports only, or for GLOBAL only",
    },
    "PORT": {
        "lanes": "the rate of links is that of [topology]",
        "mtu": "the longest frame that a port sends: hosts' frames are those of [host] mtu",
        "": "no effect on buffers and queues",
    },
    "DEVICE_METADATA": {
        "buffer_model": "which profiles are computed is seen from BUFFER_PG (NULL)",
        "": "no effect on buffers and queues",
    },
    "DEVICE_NEIGHBOR": {"": "links are those of [topology]"},
    "SWITCH_TRIMMING": {"": "trimmed packets: afflux trims by [switch.trimming], for ndp only"},
}
#: Tables for which each entry gets its own note, because each is a separate setting.
_BY_ENTRY = {
    "BUFFER_POOL",
    "BUFFER_PROFILE",
    "SCHEDULER",
    "WRED_PROFILE",
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
    "LOSSLESS_TRAFFIC_PATTERN",
    "SWITCH_TRIMMING",
}


def leftovers(reading: Reading) -> None:
    for table, entries in reading.tables.items():
        #: Fields, and keys of the entries that have them, by reason.
        found: dict[str, tuple[dict[str, None], list[str]]] = {}
        for key, entry in entries.items():
            for why, fields in _left(reading, table, key, entry).items():
                if table in _BY_ENTRY:
                    reading.account.noted(
                        f"{table} {key}: {', '.join(f'{name} = {value}' for name, value in fields.items())}: {why}"
                    )
                elif LAYOUTS[table].any:
                    reading.account.noted(
                        f"{table} {key}: {len(fields)} entries: {why}",
                        f"{table}|{key}|{next(iter(fields))}",
                    )
                else:
                    names, keys = found.setdefault(why, ({}, []))
                    names.update(dict.fromkeys(fields))
                    keys.append(key)
        for why, (names, keys) in found.items():
            for key in keys:
                reading.account.noted(f"{table}: {', '.join(names)}: {why}", f"{table}|{key}")


def _left(
    reading: Reading, table: str, key: str, entry: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """Returns the fields that were not used, by reason."""
    by_reason: dict[str, dict[str, str]] = {}
    for name, value in entry.items():
        if (table, key, name) not in reading.seen:
            by_reason.setdefault(_why(reading, table, key, name), {})[name] = value
    return by_reason


def _why(reading: Reading, table: str, key: str, name: str) -> str:
    layout = LAYOUTS[table]
    if layout.kept and layout.any is None and name not in layout.fields:
        return "unknown field; it is kept for export"
    if table == "BUFFER_PROFILE" and key in reading.roles:
        return reading.roles[key]
    if table == "PORT_QOS_MAP" and key in WHOLE:
        return "ports have settings of their own"
    if table == "SCHEDULER" and (table, key, "") not in reading.seen and name not in _SHAPES:
        name = ""
    reasons = _WHY[table]
    return reasons.get(name, reasons[""])
