"""Lists the fields of containerlab's topology files: which are taken, and what the others mean to a
lab.

Names and forms are those of containerlab's JSON schema (srl-labs/containerlab,
schemas/clab.schema.json) and of fields that older versions had.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .account import Account, Wrong, shown
from .marked import Map

#: Most freely chosen names that notes list. Further ones are only counted.
_MOST_NAMES = 40

_TRUTHS = {"true", "false", "yes", "no", "on", "off", "y", "n"}

_START = "how the container is started"
_DEVICE = "a setting of the device itself"
_ACCESS = "access to the node"
_MANAGEMENT = "a setting of the management network"
_PROCESSOR = (
    "a limit of the container; the key processor of [switch] or [host] models a node's processor"
)

#: Fields of nodes, groups, kinds and defaults: form, and meaning if the field is not taken.
NODE: Mapping[str, tuple[str, str | None]] = {
    "kind": ("text", None),
    "group": ("text", None),
    "labels": ("mapping", None),
    "exec": ("list", None),
    "mgmt-ipv4": ("text", None),
    "mgmt-ipv6": ("text", None),
    "stages": (
        "mapping",
        "the order in which nodes start; only addresses and MTUs in its commands are taken",
    ),
    "image": (
        "text",
        "the container image; only the names of routing programs in it are looked at",
    ),
    "image-pull-policy": ("text", _START),
    "restart-policy": ("text", _START),
    "startup-delay": ("number", _START),
    "auto-remove": ("truth", _START),
    "runtime": ("text", _START),
    "entrypoint": ("text", _START),
    "cmd": ("text", _START),
    "user": ("text", _START),
    "env": ("mapping", _START),
    "env-files": ("list", _START),
    "binds": ("list", _START),
    "volumes": ("list", _START),
    "devices": ("list", _START),
    "cap-add": ("list", _START),
    "privileged": ("truth", _START),
    "cgroupns-mode": ("text", _START),
    "cgroup-parent": ("text", _START),
    "pid-mode": ("text", _START),
    "tmpfs": ("mapping", _START),
    "security-opts": ("list", _START),
    "shm-size": ("text", _START),
    "healthcheck": ("mapping", _START),
    "link-apply-mode": ("text", _START),
    "wait-for": ("list", _START),
    "sandbox": ("text", _START),
    "kernel": ("text", _START),
    "cpu": ("number", _PROCESSOR),
    "cpu-set": ("text", _PROCESSOR),
    "memory": ("text", _PROCESSOR),
    "type": (
        "text",
        "the model of the device; afflux's switches are those of [switch], where preset names one",
    ),
    "license": ("text", _DEVICE),
    "startup-config": ("text", "the device's configuration, which afflux does not read"),
    "enforce-startup-config": ("truth", _DEVICE),
    "suppress-startup-config": ("truth", _DEVICE),
    "config": ("mapping", _DEVICE),
    "extras": ("mapping", _DEVICE),
    "components": ("list", "the line cards of the device"),
    "sysctls": ("mapping", "settings of the node's kernel; TCP of hosts is [host.transport]"),
    "ports": ("list", _MANAGEMENT),
    "publish": ("list", _MANAGEMENT),
    "aliases": ("list", _MANAGEMENT),
    "dns": ("mapping", _MANAGEMENT),
    "hostname": ("text", "the name within the container; the node's name is taken"),
    "network-mode": ("text", "the container's own network; its links are taken"),
    "credentials": ("mapping", _ACCESS),
    "username": ("text", _ACCESS),
    "password": ("text", _ACCESS),
    "certificate": ("mapping", _ACCESS),
    "SANs": ("list", _ACCESS),
    "position": ("text", "a place in drawings"),
}
TOP: Mapping[str, tuple[str, str | None]] = {
    "name": ("text", None),
    "topology": ("mapping", None),
    "mgmt": ("mapping", None),
    "prefix": ("text", "the beginning of container names"),
    "settings": ("mapping", "settings of certificates"),
    "debug": ("truth", "containerlab's own messages"),
}
TOPOLOGY: Mapping[str, tuple[str, str | None]] = {
    "nodes": ("mapping", None),
    "links": ("list", None),
    "groups": ("mapping", None),
    "kinds": ("mapping", None),
    "defaults": ("mapping", None),
}
MANAGEMENT: Mapping[str, tuple[str, str | None]] = {
    name: ("mapping" if name == "driver-opts" else "text", _MANAGEMENT)
    for name in (
        "network",
        "bridge",
        "ipv4-subnet",
        "ipv6-subnet",
        "ipv4-gw",
        "ipv6-gw",
        "ipv4-range",
        "ipv6-range",
        "mtu",
        "external-access",
        "skip-when-unused",
        "driver-opts",
        "ipv4_subnet",
        "ipv6_subnet",
    )
}
#: Fields of links that join two nodes. `labels` and `vars` have rate, delay and loss.
LINK: Mapping[str, tuple[str, str | None]] = {
    "type": ("text", None),
    "endpoints": ("list", None),
    "mtu": ("number", None),
    "ipv4": ("list", None),
    "ipv6": ("list", None),
    "labels": ("mapping", None),
    "vars": ("mapping", None),
}
ENDPOINT: Mapping[str, tuple[str, str | None]] = {
    "node": ("text", None),
    "interface": ("text", None),
    "ipv4": ("text", None),
    "ipv6": ("text", None),
    "mac": ("text", "a hardware address"),
    "vars": ("mapping", "variables for templates of device configurations"),
}
#: Types of links in the extended form that do not join two nodes of the lab, with descriptions.
OUTSIDE_TYPES: Mapping[str, str] = {
    "mgmt-net": "to the management network",
    "host": "to the machine that runs the lab",
    "macvlan": "to a network outside the lab",
    "vxlan": "tunnels out of the lab",
    "vxlan-stitch": "tunnels out of the lab",
    "dummy": "interfaces without a link",
}
JOINING_TYPES = ("veth", "veth-stitch", "brief")
#: Kinds that are machines. All others are network devices or bridges.
MACHINES = {
    "linux",
    "generic_vm",
    "k8s-kind",
    "ext-container",
    "host",
    "border0",
    "mysocketio",
    "keysight_ixia-c-one",
    "spirent_stc",
    "ostinato",
}
#: Kinds that are network devices, firewalls or bridges, including those of older versions.
DEVICES = frozenset(
    """
    srl nokia_srlinux nokia_sros nokia_srsim vr-sros vr-nokia_sros ceos arista_ceos arista_veos vr-veos vr-arista_veos
    crpd juniper_crpd juniper_csrx juniper_vmx juniper_vqfx juniper_vsrx juniper_vjunosrouter juniper_vjunosswitch juniper_vjunosevolved
    juniper_cjunosevolved vr-vmx vr-juniper_vmx vr-vqfx vr-juniper_vqfx vr-vsrx vr-juniper_vsrx vr-vjunosswitch vr-vjunosevolved
    sonic-vs sonic-vm dell_sonic plvision_sonic cvx cumulus_cvx nvidia_cumulusvx
    cisco_xrv cisco_xrv9k cisco_xrd cisco_xrd_vrouter xrd cisco_csr1000v cisco_c8000 cisco_c8000v cisco_cat9kv cisco_iol cisco_asav cisco_vios
    cisco_n9kv cisco_nxos cisco_ftdv cisco_sdwan vr-xrv vr-cisco_xrv vr-xrv9k vr-cisco_xrv9k vr-nxos vr-cisco_nxos vr-csr vr-cisco_csr
    vr-cisco_csr1000v vr-n9kv vr-cisco_n9kv vr-c8000v vr-cat9kv vr-ftdv
    paloalto_panos vr-pan vr-paloalto_panos mikrotik_ros vr-ros vr-mikrotik_ros dell_ftosv vr-ftosv vr-dell_ftosv
    aruba_aoscx vr-aoscx vr-aruba_aoscx 6wind_vsr ipinfusion_ocnos checkpoint_cloudguard ciena_saos rare huawei_vrp openbsd freebsd openwrt
    fortinet_fortigate vr-fortinet_fortigate fdio_vpp vyosnetworks_vyos arrcus_arcos f5_bigip-ve veesix_osvbng bridge ovs-bridge
    """.split()  # noqa: SIM905 – one name per line would be a long column
)
#: Words in the names of container images whose programs route: FRR, BIRD, GoBGP, …
ROUTING_IMAGES = (
    "frr",
    "bird",
    "gobgp",
    "vyos",
    "quagga",
    "openbgpd",
    "exabgp",
    "holo",
    "vpp",
    "rustybgp",
    "freertr",
    "cumulus",
    "sonic",
    "crpd",
    "babeld",
)


@dataclass
class Fields:
    """Checks every field of a lab once, wherever it occurs, and notes those that are left out."""

    path: Path
    account: Account
    _names: set[tuple[str, str]] = field(default_factory=set)

    def look(
        self, values: Map, known: Mapping[str, tuple[str, str | None]], prefix: str, of: str
    ) -> None:
        """Refuses values of another form, and notes fields that are not taken. In notes, `prefix`
        precedes the field's name and `of` follows it."""
        for name, value in values.items():
            line = values.at(name)
            form, meaning = known.get(name, ("", ""))
            if form:
                self._fits(value, form, f"{prefix}{name}", line)
            if name not in known:
                self.free(f"{prefix}{{}}{of}: not a field that afflux knows, left out", name, line)
            elif meaning is not None:
                self.account.noted(f"{prefix}{name}{of}: {meaning}, left out", line)

    def look_at_free(self, values: Mapping[str, Any], taken: Collection[str], what: str) -> None:
        """Notes the names in a mapping with freely chosen names, such as labels. `what` is a
        sentence with {} for the name."""
        for name in values:
            if name not in taken:
                self.free(what, name, values.at(name) if isinstance(values, Map) else None)

    def free(self, sentence: str, name: str, line: int | None) -> None:
        if len(self._names) >= _MOST_NAMES and (sentence, name) not in self._names:
            self.account.noted(sentence.format("further names"), line)
            return
        self._names.add((sentence, name))
        self.account.noted(sentence.format(shown(name, 40).strip("'")), line)

    def _fits(self, value: Any, form: str, name: str, line: int) -> None:
        if value is None:
            return
        is_text = isinstance(value, str)
        expected = {
            "mapping": None if isinstance(value, Map) else "a mapping",
            "list": None if isinstance(value, list) else "a list",
            "text": None if is_text else "text",
            "number": None if is_text and _is_number(value) else "a number",
            "truth": None if is_text and value.lower() in _TRUTHS else "true or false",
        }[form]
        if expected is not None:
            raise Wrong(self.path, line, f"{name}: {shown(value)}", expected)


def _is_number(text: str) -> bool:
    try:
        return abs(float(text)) < 1e18
    except ValueError:
        return False
