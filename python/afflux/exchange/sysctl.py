"""Converts a scenario's transport to settings of Linux hosts: sysctl lines, and route and tc
commands where sysctl has no key."""

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import linux_ranges
from .quantity import seconds, short_time, size

_MODULES = {
    "newreno": "reno",
    "dctcp": "dctcp",
    "cubic": "cubic",
    "htcp": "htcp",
    "bbr": "bbr",
    "bbr3": "bbr",
}
#: Behaviour of Linux that no setting changes. A scenario that agrees with it needs no line (see
#: `stack = "linux"` in the schema).
_FIXED = {
    "dupack_threshold": (3, "Linux counts to 3 and adapts to reordering by itself"),
    "min_rto_on_variance": (True, "Linux adds its floor to the smoothed round trip"),
    "handshake": (True, "Linux opens and closes connections"),
}


@dataclass
class Settings:
    """Settings of hosts: `sysctl` lines, `commands` (routes, queueing disciplines), and properties
    of the scenario that have no setting."""

    sysctl: dict[str, str] = field(default_factory=dict)
    #: Metrics of the default route. One command sets them all: `ip route change` replaces every
    #: metric of the route.
    route: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def text(self, title: str, sets: bool) -> str:
        """Returns the settings as a part of a file. With `sets` they are active, otherwise they are
        comments."""
        off = "" if sets else "# "
        lines = [f"# {title}{'' if sets else ' (comments: a host has one value of each setting)'}"]
        lines += [f"{off}{key} = {value}" for key, value in self.sysctl.items()]
        commands = [*self.commands, *self._route()]
        if commands:
            lines += [
                "",
                "# No sysctl has these (DEV and GATEWAY are the host's):",
                *(f"# {command}" for command in commands),
            ]
        if self.missing:
            lines += ["", "# Linux cannot be set to:", *(f"#   {line}" for line in self.missing)]
        return "\n".join(lines) + "\n"

    def _route(self) -> list[str]:
        if not self.route:
            return []
        old = any(metric.startswith("rto_min") for metric in self.route)
        note = "  # rto_min is for kernels before Linux 6.11" if old else ""
        return [
            "# ip route change replaces all metrics of a route: keep these in one command, with those that the route has",
            f"ip route change default via GATEWAY dev DEV {' '.join(self.route)}{note}",
        ]


#: Title and settings of some hosts, or of the traffic of a transport.
Group = tuple[str, Settings]


def document(groups: Sequence[Group]) -> str:
    """Returns the file. The settings of the first group are active. Deviating settings of others
    are comments: otherwise the last would override the first."""
    (title, first), *others = groups
    alike = [other for other, settings in others if settings == first]
    parts = [first.text(", ".join([title, *alike]), True)]
    return "\n".join(
        [*parts, *(settings.text(other, False) for other, settings in others if settings != first)]
    )


def notes(groups: Sequence[Group]) -> list[str]:
    """Returns notes on the settings that the file does not set."""
    missing = [
        f"not expressed, {title}: {line}" for title, settings in groups for line in settings.missing
    ]
    (_, first), *others = groups
    differ = [title for title, settings in others if settings != first]
    if differ:
        missing.append(
            f"comments alone: the settings of {'; '.join(differ)}. The file sets those of {groups[0][0]}"
        )
    return missing


def settings(
    transport: Mapping[str, Any],
    uses_ecn: bool = True,
    mtu: str | None = None,
    host: Mapping[str, Any] | None = None,
) -> Settings:
    """Returns the settings for a resolved `[host.transport]`. `uses_ecn` is `[host] ecn`. `host` is
    the table with the queueing discipline and the NIC."""
    out = Settings()
    host = host or {}
    if transport.get("kind", "tcp") != "tcp":
        out.missing.append(f"kind = {transport['kind']!r}: not TCP; the application sets it")
        _mtu(mtu, host, out)
        _nic(host, out)
        _rest_of_host(host, out)
        return out
    for step in (_congestion, _ecn, _loss, _window, _timers, _sending, _mptcp):
        step(transport, out)
    _mss(transport, mtu, host, out)
    _rest(transport, out)
    if not uses_ecn:
        out.sysctl["net.ipv4.tcp_ecn"] = "0"
        if out.sysctl.get("net.ipv4.tcp_congestion_control") == "dctcp":
            out.missing.append(
                "host.ecn = false: DCTCP of Linux asks for ECN and agrees to it whatever tcp_ecn is: give these hosts another one"
            )
    if "python" in host:
        out.sysctl.pop("net.ipv4.tcp_congestion_control", None)
        out.missing.append(
            "host.python: a congestion control in Python: Linux has no such module, and its own is not set"
        )
    _mtu(mtu, host, out)
    words = _qdisc(host, bool(transport.get("pacing")), out)
    _nic(host, out, words)
    _rest_of_host(host, out)
    return out


def _congestion(transport: Mapping[str, Any], out: Settings) -> None:
    name = transport.get("congestion", "newreno")
    if name in _MODULES:
        out.sysctl["net.ipv4.tcp_congestion_control"] = _MODULES[name]
    else:
        out.missing.append(f"congestion = {name!r}: mainline Linux has no such module")
    if name == "bbr3":
        out.missing.append(
            "congestion = 'bbr3': mainline's bbr is version 1; version 3 is in google/bbr's kernels, there also called bbr"
        )
    dctcp = transport.get("dctcp", {})
    if name == "dctcp":
        # Module parameters of tcp_dctcp: a shift for g, and alpha in 1/1024.
        gain = dctcp.get("gain", 0.0625)
        shift = next((s for s in range(11) if abs(2.0**-s - gain) < 1e-12), None)
        if shift is None:
            out.missing.append(f"dctcp.gain = {gain}: the module takes powers of two")
        elif shift != 4:
            out.commands.append(f"echo {shift} > /sys/module/tcp_dctcp/parameters/dctcp_shift_g")
        if dctcp.get("initial_alpha", 1) != 1:
            out.commands.append(
                f"echo {round(1024 * dctcp['initial_alpha'])} > /sys/module/tcp_dctcp/parameters/dctcp_alpha_on_init"
            )
    if name == "htcp":
        for key, parameter in (
            ("rtt_scaling", "use_rtt_scaling"),
            ("bandwidth_switch", "use_bandwidth_switch"),
        ):
            if transport.get("htcp", {}).get(key, True) is False:
                out.commands.append(f"echo 0 > /sys/module/tcp_htcp/parameters/{parameter}")
    if name == "cubic":
        cubic = transport.get("cubic", {})
        if cubic.get("beta", 0.7) not in (0.7, 0.7001953125):
            out.commands.append(
                f"echo {round(1024 * cubic['beta'])} > /sys/module/tcp_cubic/parameters/beta"
            )
        for key, parameter in (
            ("fast_convergence", "fast_convergence"),
            ("tcp_friendly", "tcp_friendliness"),
        ):
            if cubic.get(key, True) is False:
                out.commands.append(f"echo 0 > /sys/module/tcp_cubic/parameters/{parameter}")
        if cubic.get("hystart", "linux") == "off":
            out.commands.append("echo 0 > /sys/module/tcp_cubic/parameters/hystart")
        elif cubic.get("hystart", "linux") != "linux":
            out.missing.append(f"cubic.hystart = {cubic['hystart']!r}: Linux has its own or none")
        if cubic.get("flavour", "linux") != "linux":
            out.missing.append(f"cubic.flavour = {cubic['flavour']!r}")


def _ecn(transport: Mapping[str, Any], out: Settings) -> None:
    echo = transport.get("ecn", "off")
    # 1 requests and accepts ECN, 2 only accepts it (ip-sysctl.rst). dctcp requests ECN regardless
    # of this setting.
    out.sysctl["net.ipv4.tcp_ecn"] = {"off": "2", "classic": "1", "dctcp": "1"}[echo]
    if echo == "classic":
        out.sysctl["net.ipv4.tcp_ecn_fallback"] = "1"
    if echo == "dctcp" and transport.get("congestion") not in ("dctcp", "bbr3"):
        out.missing.append(
            "ecn = 'dctcp' without congestion = 'dctcp': a route's `features ecn_low` or the congestion control decides"
        )


def _loss(transport: Mapping[str, Any], out: Settings) -> None:
    recovery = transport.get("recovery", "sack")
    out.sysctl["net.ipv4.tcp_sack"] = "0" if recovery == "newreno" else "1"
    out.sysctl["net.ipv4.tcp_recovery"] = "1" if recovery == "rack" else "0"
    out.sysctl["net.ipv4.tcp_early_retrans"] = "3" if transport.get("tail_probe") else "0"
    out.sysctl["net.ipv4.tcp_frto"] = "2" if transport.get("undo") else "0"
    if not transport.get("prr", False) and transport.get("stack") == "linux":
        out.missing.append("prr = false: Linux always reduces proportionally")
    for key, (fixed, why) in _FIXED.items():
        if key in transport and transport[key] != fixed:
            out.missing.append(f"{key} = {_toml(transport[key])}: {why}")


def _window(transport: Mapping[str, Any], out: Settings) -> None:
    buffer, most = transport.get("receive_buffer"), transport.get("receive_buffer_max")
    if buffer:
        first = linux_ranges.buffer("receive_buffer", size(buffer), out.missing)
        last = linux_ranges.buffer("receive_buffer_max", size(most), out.missing) if most else first
        out.sysctl["net.ipv4.tcp_rmem"] = f"4096 {first} {last}"
        out.sysctl["net.ipv4.tcp_moderate_rcvbuf"] = "1" if most else "0"
    elif transport.get("receive_window", "unlimited") != "unlimited":
        # About half of a buffer is window: until Linux 6.5 by tcp_adv_win_scale = 1, since then as
        # measured by the kernel.
        room = linux_ranges.buffer(
            "receive_window", 2 * size(transport["receive_window"]), out.missing
        )
        out.sysctl["net.ipv4.tcp_rmem"] = f"4096 {room} {room}"
        out.sysctl["net.ipv4.tcp_moderate_rcvbuf"] = "0"
    else:
        out.missing.append(
            "receive_window = 'unlimited': choose tcp_rmem above twice the rate times the round trip"
        )
    if fixed := transport.get("send_buffer"):
        room = linux_ranges.buffer("send_buffer", size(fixed), out.missing)
        out.sysctl["net.ipv4.tcp_wmem"] = f"4096 {room} {room}"
    elif (largest := transport.get("send_buffer_max", "unlimited")) != "unlimited":
        room = linux_ranges.buffer("send_buffer_max", size(largest), out.missing)
        out.sysctl["net.ipv4.tcp_wmem"] = f"4096 16384 {room}"
    else:
        out.missing.append(
            "send_buffer_max = 'unlimited': choose tcp_wmem above twice the rate times the round trip"
        )
    if transport.get("initial_window", 10) != 10:
        out.route.append(f"initcwnd {transport['initial_window']}")
    if transport.get("max_window", "unlimited") != "unlimited":
        out.missing.append(
            f"max_window = {transport['max_window']}: only an application's SO_SNDBUF, or tcp_wmem, bounds the window"
        )
    out.sysctl["net.ipv4.tcp_no_metrics_save"] = "0" if transport.get("ssthresh_cache") else "1"
    if transport.get("ssthresh_cache"):
        out.sysctl["net.ipv4.tcp_no_ssthresh_metrics_save"] = "0"
    out.sysctl["net.ipv4.tcp_slow_start_after_idle"] = "1" if transport.get("idle_restart") else "0"


def _timers(transport: Mapping[str, Any], out: Settings) -> None:
    floor = seconds(transport.get("min_rto", "200ms"))
    if floor != 0.2:
        whole = math.ceil(floor * 1e3 - 1e-9)
        if abs(floor * 1e3 - whole) > 1e-9:
            out.missing.append(
                f"min_rto = {short_time(transport['min_rto'])!r}: Linux counts whole ticks of its clock (1 or 4 ms)"
            )
        out.sysctl["net.ipv4.tcp_rto_min_us"] = str(max(round(floor * 1e6), 1))
        out.route.append(f"rto_min {max(whole, 1)}ms")
    most = seconds(transport.get("max_rto", "120s"))
    if most != 120:
        if 1 <= most <= 120:
            # From Linux 6.15 on.
            out.sysctl["net.ipv4.tcp_rto_max_ms"] = str(round(most * 1e3))
        else:
            out.missing.append(
                f"max_rto = {short_time(transport['max_rto'])!r}: Linux takes 1 s to 120 s (tcp_rto_max_ms, from Linux 6.15 on)"
            )
    delayed = transport.get("delayed_ack", "off")
    if delayed == "off":
        out.route.append("quickack 1")
    elif (
        delayed.get("segments", 2) != 2
        or delayed.get("quick", 16) != 16
        or seconds(delayed.get("timeout", "40ms")) != 0.04
    ):
        out.missing.append(
            f"delayed_ack = {_toml(delayed)}: Linux has 2 segments, 40 ms at least, and 16 quick acknowledgements"
        )
    if transport.get("sack_compression") is False:
        out.sysctl["net.ipv4.tcp_comp_sack_nr"] = "0"


def _sending(transport: Mapping[str, Any], out: Settings) -> None:
    if transport.get("pacing") or transport.get("congestion") in ("bbr", "bbr3"):
        out.sysctl["net.core.default_qdisc"] = "fq"
    if transport.get("stack") == "linux" and transport.get("small_queues") is False:
        out.missing.append("small_queues = false: Linux always has them")
    burst = transport.get("burst", 1)
    if burst == 1:
        out.commands.append("ethtool -K DEV tso off gso off gro off")
    elif burst != "auto":
        out.commands.append(f"ip link set dev DEV gso_max_segs {burst}")


def _mptcp(transport: Mapping[str, Any], out: Settings) -> None:
    """Sets what mainline's MPTCP has: a switch, and a limit on subflows. Programs ask for it with
    IPPROTO_MPTCP."""
    table = transport.get("mptcp")
    if not isinstance(table, Mapping):
        if table not in (None, "off"):
            out.missing.append(f"mptcp = {_toml(table)}: Linux has no setting for it")
        return
    out.sysctl["net.mptcp.enabled"] = "1"
    for key, value in table.items():
        if key == "subflows" and isinstance(value, int) and 1 <= value <= 9:
            # The first subflow is not counted.
            out.commands.append(f"ip mptcp limits set subflows {value - 1}")
        elif key == "manager":
            out.missing.append(
                f"mptcp.manager = {_toml(value)}: mainline's subflows follow from its endpoints: ip mptcp endpoint add ADDRESS dev DEV subflow"
            )
        else:
            out.missing.append(
                f"mptcp.{key} = {_toml(value)}: mainline Linux has no setting for it"
            )


def _mss(
    transport: Mapping[str, Any], mtu: str | None, host: Mapping[str, Any], out: Settings
) -> None:
    """Sets the segment size if it is not the one that follows from the MTU. A route's `advmss`
    bounds what peers send, so all hosts need it."""
    if "mss" not in transport:
        return
    wire = host.get("wire", "ethernet")
    follows = _default_mss(mtu, _toml(wire), _toml(transport.get("mptcp", "off")))
    if size(transport["mss"]) != follows:
        out.route.append(f"advmss {size(transport['mss'])}")


#: Keys that the steps above read. For tables, the keys within them are checked.
_READ = {
    "kind", "stack", "congestion", "ecn", "recovery", "tail_probe", "undo", "prr", *_FIXED,
    "receive_buffer", "receive_buffer_max", "receive_window", "send_buffer", "send_buffer_max", "initial_window", "max_window", "ssthresh_cache",
    "idle_restart", "min_rto", "max_rto", "delayed_ack", "sack_compression", "pacing", "small_queues", "burst", "mptcp", "mss",
}  # fmt: skip
_READ_WITHIN = {
    "dctcp": {"gain", "initial_alpha"},
    "htcp": {"rtt_scaling", "bandwidth_switch"},
    "cubic": {"beta", "fast_convergence", "tcp_friendly", "hystart", "flavour"},
}
#: Keys that have a sysctl with the same meaning, and the values that it takes.
_SYSCTLS = {
    "retries": ("net.ipv4.tcp_retries2", linux_ranges.RETRIES),
    "syn_retries": ("net.ipv4.tcp_syn_retries", linux_ranges.SYN_RETRIES),
}


def _rest(transport: Mapping[str, Any], out: Settings) -> None:
    """Handles all other keys. A key with the value of Linux's stack needs no line. Otherwise its
    sysctl is set, or the key is listed as missing."""
    usual = _of_linux(transport.get("congestion", "newreno"))
    for key, value in transport.items():
        if key in _READ or value == usual.get(key):
            continue
        if key in _SYSCTLS and isinstance(value, int):
            name, allowed = _SYSCTLS[key]
            out.sysctl[name] = str(
                linux_ranges.within(f"{key} = {value}", value, allowed, out.missing)
            )
        elif isinstance(value, Mapping) and key in _READ_WITHIN:
            if key == transport.get("congestion"):
                within = {
                    name: part
                    for name, part in value.items()
                    if name not in _READ_WITHIN[key] and part != usual.get(key, {}).get(name)
                }
                out.missing += [
                    f"{key}.{name} = {_toml(part)}: Linux has no setting for it"
                    for name, part in within.items()
                ]
        else:
            out.missing.append(f"{key} = {_toml(short_time(value))}: Linux has no setting for it")


@functools.cache
def _of_linux(congestion: str) -> Mapping[str, Any]:
    """Returns the transport of `stack = "linux"` with all defaults."""
    from ..files import toml

    return _host_with(f'transport = {{ stack = "linux", congestion = {toml.value(congestion)} }}')[
        "transport"
    ]  # type: ignore[no-any-return]


@functools.cache
def _default_mss(mtu: str | None, wire: str, mptcp: str) -> int:
    """Returns the `mss` in bytes that follows from the MTU, the frames and MPTCP. `wire` and
    `mptcp` are TOML values."""
    keys = [f"wire = {wire}", *([f"mtu = {_toml(mtu)}"] if mtu is not None else [])]
    keys += [] if mptcp == _toml("off") else [f"transport = {{ mptcp = {mptcp} }}"]
    return size(_host_with(", ".join(keys))["transport"]["mss"])


def _host_with(keys: str) -> Mapping[str, Any]:
    """Returns `[host]` of a scenario with these keys and all defaults."""
    from .. import _core
    from ..files import toml

    scenario = f'format = 1\nhost = {{ {keys} }}\ntopology = {{ kind = "star", hosts = 2 }}\ntraffic = [{{ kind = "permutation", sizes = "1kB" }}]\n'
    found: Mapping[str, Any] = toml.with_defaults(
        _core.parse(scenario, "defaults of Linux").resolved
    )["host"]
    return found


#: Parameters of the kernel's queueing disciplines, with their defaults.
_QDISCS: dict[str, dict[str, Any]] = {
    "fq_codel": {
        "target": "5ms",
        "interval": "100ms",
        "ecn": True,
        "quantum": "1514B",
        "flows": 1024,
        "limit": 10240,
        "drop_batch": 64,
    },
    "fq": {"limit": 10000, "flow_limit": 100, "quantum": "3028B", "initial_quantum": "15140B"},
    "pfifo": {"limit": 1000},
}


def _mtu(mtu: str | None, host: Mapping[str, Any], out: Settings) -> None:
    if mtu is None:
        return
    if host.get("wire", "ethernet") == "ethernet":
        out.commands.append(f"ip link set dev DEV mtu {size(mtu)}")
    else:
        out.missing.append(
            f"host.mtu = {mtu!r} with host.wire = {_toml(host['wire'])}: the interface carries other headers; set an mtu that holds them"
        )


def _qdisc(host: Mapping[str, Any], paces: bool, out: Settings) -> str | None:
    """Sets the queueing discipline. Returns its name with parameters if some are not its
    defaults."""
    qdisc = host.get("qdisc", "off")
    kind = qdisc if isinstance(qdisc, str) else qdisc.get("kind", "off")
    if kind not in _QDISCS:
        out.missing.append(
            f"host.qdisc = {kind!r}: Linux's NICs always have a discipline; default_qdisc is {'fq' if paces else 'not set'}"
        )
        return None
    if paces and kind != "fq":
        out.missing.append(
            f"qdisc = {kind!r} with pacing: of Linux's disciplines fq alone paces what is not BBR, so default_qdisc is fq"
        )
        return None
    out.sysctl["net.core.default_qdisc"] = kind
    words = []
    for key, default in _QDISCS[kind].items():
        value = default if isinstance(qdisc, str) else qdisc.get(key, default)
        if value == default:
            continue
        if isinstance(value, bool):
            words.append(key if value else f"no{key}")
        elif key in ("target", "interval"):
            words.append(
                f"{key} {linux_ranges.microseconds(f'host.qdisc.{key}', value, out.missing)}us"
            )
        else:
            words.append(f"{key} {size(value) if 'quantum' in key else value}")
    return f"{kind} {' '.join(words)}" if words else None


def _nic(host: Mapping[str, Any], out: Settings, qdisc: str | None = None) -> None:
    """Sets the queues of the NIC, and the discipline of each. The number of queues comes first,
    because it gives the NIC new disciplines."""
    queues = host.get("hardware_queues", 1)
    if queues > 1:
        out.commands.append(f"ethtool -L DEV combined {queues}")
    if qdisc is not None and queues > 1:
        out.commands += [
            "tc qdisc replace dev DEV root handle 1: mq",
            f"for queue in $(seq {queues}); do tc qdisc replace dev DEV parent 1:$(printf %x $queue) {qdisc}; done",
        ]
    elif qdisc is not None:
        out.commands.append(f"tc qdisc replace dev DEV root {qdisc}")
    if "bql" in host:
        # The limit of the scenario is fixed. Linux's varies from limit_min to limit_max.
        limit = size(host["bql"])
        out.commands.append(
            f"for queue in /sys/class/net/DEV/queues/tx-*/byte_queue_limits; do echo {limit} > $queue/limit_max; echo {limit} > $queue/limit_min; done"
        )


#: Keys of `[host]` that are no settings of a host or are exported elsewhere. `timing` is a model of
#: the machine.
_NOT_OF_HOST = {
    "transport", "transports", "override", "match", "timing", "mtu", "ecn", "qdisc", "bql", "hardware_queues", "python",
}  # fmt: skip
#: Values of the other keys that need no setting.
_USUAL_HOST = {
    "nic_ecn": "off",
    "pacer": "off",
    "processor": "off",
    "queue": "unlimited",
    "scheduling": "fifo",
    "honours_pause": True,
    "wire": "ethernet",
}
_WHY = {
    "honours_pause": "PFC is set with dcb or the vendor's tool, PAUSE with ethtool -A",
    "dscp_to_priority": "priorities of the NIC are set with dcb or the vendor's tool",
    "kernel": "these hosts are Linux, with settings of their own",
    "delay": "Linux has no setting for it; netem in tc qdisc would replace the discipline",
}


def _rest_of_host(host: Mapping[str, Any], out: Settings) -> None:
    """Names all other keys of `[host]`, unless their value is what Linux does."""
    for key, value in host.items():
        if key in _NOT_OF_HOST or value == _USUAL_HOST.get(key):
            continue
        if key == "delay" and seconds(value) == 0:
            continue
        shown = "" if key == "kernel" else f" = {_toml(value)}"
        out.missing.append(f"host.{key}{shown}: {_WHY.get(key, 'Linux has no setting for it')}")


def _toml(item: Any) -> str:
    from ..files import toml

    return toml.value(item)


def of_scenario(resolved: Mapping[str, Any]) -> list[Group]:
    """Returns the settings for the hosts of a resolved scenario: of all hosts, of each named
    transport, and of each override. If all traffic names one transport, its settings come first."""
    groups = dict(_groups(resolved))
    named = {block.get("transport") for block in resolved.get("traffic", [])}
    if len(named) == 1 and (title := f"traffic with transport = {next(iter(named))!r}") in groups:
        return [(title, groups.pop(title)), *groups.items()]
    return list(groups.items())


def _groups(resolved: Mapping[str, Any]) -> Iterator[Group]:
    host = resolved.get("host", {})
    mtu = host.get("mtu")
    yield "all hosts", settings(host.get("transport", {}), host.get("ecn", True), mtu, host)
    transports = host.get("transports", {})
    for name, transport in transports.items():
        yield (
            f"traffic with transport = {name!r}",
            settings(transport, host.get("ecn", True), mtu, host),
        )
    for change in host.get("override", []):
        hosts = change["match"] if isinstance(change["match"], str) else ", ".join(change["match"])
        transport = change.get("transport", host.get("transport", {}))
        if isinstance(transport, str):
            transport = transports[transport]
        if change.keys() - {"match", "timing"}:
            yield (
                f"hosts {hosts}",
                settings(
                    transport, change.get("ecn", host.get("ecn", True)), mtu, {**host, **change}
                ),
            )
    yield from _of_links(resolved.get("topology", {}))


def _of_links(topology: Mapping[str, Any]) -> Iterator[Group]:
    """Yields the MTUs of links that have their own."""
    named: dict[str, list[str]] = {}
    for link in topology.get("link", []):
        if isinstance(link, Mapping) and "mtu" in link:
            named.setdefault(link["mtu"], []).append(f"{link['a']}-{link['b']}")
    for change in topology.get("override", []):
        if "mtu" in change:
            links = change["link"] if isinstance(change["link"], list) else [change["link"]]
            named.setdefault(change["mtu"], []).extend(links)
    for mtu, links in named.items():
        some = ", ".join(links[:5]) + (f" and {len(links) - 5} more" if len(links) > 5 else "")
        yield (
            f"hosts at the ends of the links {some}",
            Settings(commands=[f"ip link set dev DEV mtu {size(mtu)}"]),
        )
