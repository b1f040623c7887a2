"""Imports every SONiC configuration below a directory, and compares the result with its own count.

    python -m validation.evidence.sonic_samples DIRECTORY -o validation/evidence/sonic-samples.csv

It uses all configurations with tables of buffers or queues. The directory has files of
sonic-net/sonic-buildimage: src/sonic-config-engine/tests/sample_output, which are configurations as
the build image renders them for real switches, and qos.json of devices. The count reads the JSON
directly and shares no code with the importer.
"""

import argparse
import csv
import json
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from afflux.exchange import sonic
from afflux.exchange.account import Account

_TABLES = {
    "BUFFER_POOL",
    "BUFFER_PROFILE",
    "BUFFER_PG",
    "BUFFER_QUEUE",
    "QUEUE",
    "SCHEDULER",
    "WRED_PROFILE",
    "PORT_QOS_MAP",
    "DSCP_TO_TC_MAP",
    "CABLE_LENGTH",
}
COLUMNS = ("file", "tables", "notes", "compared", "differences")


def _common(values: list[Any]) -> Any:
    return Counter(values).most_common(1)[0][0] if values else None


def counted(tables: dict[str, dict[str, dict[str, str]]]) -> dict[str, Any]:
    """Returns what a scenario must contain, as far as the file determines it."""
    found: dict[str, Any] = {}
    pools = tables.get("BUFFER_POOL", {})
    ingress = [
        pool for pool in pools.values() if pool["type"] != "egress" and int(pool.get("size", 0))
    ]
    if ingress:
        found["buffer"] = sum(int(pool["size"]) + int(pool.get("xoff", 0)) for pool in ingress)
    maps = {
        port: entry for port, entry in tables.get("PORT_QOS_MAP", {}).items() if port != "global"
    }
    enabled = _common([entry.get("pfc_enable", "") for entry in maps.values()]) or ""
    groups = tables.get("TC_TO_PRIORITY_GROUP_MAP", {}).get(
        _common([e["tc_to_pg_map"] for e in maps.values() if "tc_to_pg_map" in e]) or "", {}
    )
    lossless = sorted(tc for tc in range(8) if groups.get(str(tc), str(tc)) in enabled.split(","))
    if maps and enabled:
        found["pfc"] = lossless
    dscp = tables.get("DSCP_TO_TC_MAP", {})
    names = [entry["dscp_to_tc_map"] for entry in maps.values() if "dscp_to_tc_map" in entry]
    names = names or [
        entry["dscp_to_tc_map"]
        for entry in tables.get("PORT_QOS_MAP", {}).values()
        if "dscp_to_tc_map" in entry
    ]
    if names and _common(names) in dscp:
        found["dscp"] = {
            key: int(tc) if int(tc) < 8 else 0 for key, tc in dscp[_common(names)].items()
        }
    schedulers: dict[int, list[str]] = {}
    for key, entry in tables.get("QUEUE", {}).items():
        first, _, last = key.split("|")[-1].partition("-")
        for number in range(int(first), int(last or first) + 1):
            if "scheduler" in entry:
                schedulers.setdefault(number, []).extend(
                    [entry["scheduler"]] * (key.count(",") + 1)
                )
    known = tables.get("SCHEDULER", {})
    weights = {
        number: known[_common(names)]
        for number, names in schedulers.items()
        if _common(names) in known
    }
    if weights:
        found["weights"] = {
            number: None if entry["type"] == "STRICT" else int(entry["weight"])
            for number, entry in weights.items()
        }
    return found


def taken(scenario: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Returns the corresponding values of the scenario."""
    switch, found = scenario["switch"], {}
    for key in wanted:
        match key:
            case "buffer":
                found[key] = int(str(switch.get("buffer", "0")).rstrip("B"))
            case "pfc":
                found[key] = switch.get("pfc", {}).get("priorities", [])
            case "dscp":
                of_host = scenario.get("host", {}).get("dscp_to_priority", {})
                found[key] = {dscp: of_host.get(dscp) for dscp in wanted[key]}
            case "weights":
                queues = {
                    int(queue.get("name", f"queue{queue['index']}")[5:]): queue.get("weight")
                    for queue in switch.get("queue", [])
                }
                found[key] = {number: queues.get(number) for number in wanted[key]}
    return found


def row(path: Path, name: str) -> dict[str, Any] | None:
    try:
        tables = json.loads(path.read_text())
    except ValueError:
        return None
    if not isinstance(tables, dict) or not tables.keys() & _TABLES:
        return None
    try:
        text, account = sonic.imported([path])
    except ValueError as error:
        return dict(zip(COLUMNS, (name, len(tables), 0, 0, f"refused: {error}"), strict=True))
    scenario = tomllib.loads(text)
    wanted = counted(tables)
    found = taken(scenario, wanted)
    differences = [
        f"{key}: {found[key]}, counted {wanted[key]}" for key in wanted if found[key] != wanted[key]
    ]
    back, missing = sonic.of_design(scenario)
    if missing or any(
        back.get(table) != entries
        for table, entries in sonic.read(path, Account("fields")).items()
        if table in back or entries
    ):
        differences.append("export gives other tables")
    return dict(
        zip(
            COLUMNS,
            (name, len(tables), len(account.left_out()), " ".join(wanted), "; ".join(differences)),
            strict=True,
        )
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    given = parser.parse_args()
    rows = [
        found
        for path in sorted(given.directory.rglob("*.json"))
        if (found := row(path, str(path.relative_to(given.directory)))) is not None
    ]
    with given.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    wrong = [found for found in rows if found["differences"]]
    print(f"{len(rows)} configurations, {len(rows) - len(wrong)} as counted")
    for found in wrong:
        print(f"{found['file']}: {found['differences']}")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
