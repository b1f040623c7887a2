"""`afflux import` and `afflux export`: one file per format."""

from collections.abc import Callable
from typing import Any

from . import containerlab, flows, hpcc, htsim, jobs, linux, pcap, sonic

_Format = tuple[str, Callable[..., Any], tuple[str, ...]]

#: Name, function and examples of each format, in groups, in the order of the help.
IMPORTS: dict[str, tuple[_Format, ...]] = {
    "Networks and switches": (
        (
            "containerlab",
            containerlab.containerlab,
            (
                "afflux import containerlab lab.clab.yml --rate 100Gbps --host-rate 25Gbps -o fabric.toml",
            ),
        ),
        (
            "sonic",
            sonic.import_sonic,
            (
                "afflux import sonic config_db.json -o leaf.toml",
                "afflux import sonic buffers.json qos.json --into fabric.toml -o new.toml",
            ),
        ),
    ),
    "Captures and job logs": (
        ("pcap", pcap.pcap, ("afflux import pcap capture.pcapng --gap 100ms -o flows.parquet",)),
        (
            "jhist",
            jobs.jhist,
            ("afflux import jhist done/*.jhist -o jobs.tsv --flows shuffle.csv",),
        ),
        (
            "spark",
            jobs.spark,
            ("afflux import spark application_1 -o jobs.tsv --flows shuffle.csv",),
        ),
    ),
    "Other simulators": (
        (
            "hpcc-topology",
            hpcc.hpcc_topology,
            ("afflux import hpcc-topology topology.txt -o fabric.toml",),
        ),
        ("hpcc-flows", hpcc.hpcc_flows, ("afflux import hpcc-flows flow.txt -o flows.csv",)),
        ("hpcc-fct", hpcc.hpcc_fct, ("afflux import hpcc-fct fct.txt -o theirs.csv",)),
        ("htsim", htsim.htsim, ("afflux import htsim perm.cm -o flows.csv",)),
    ),
}
EXPORTS: dict[str, tuple[_Format, ...]] = {
    "Networks and devices": (
        (
            "containerlab",
            containerlab.export_containerlab,
            ("afflux export containerlab fabric.toml -o lab.clab.yml",),
        ),
        (
            "sonic",
            sonic.export_sonic,
            (
                "afflux export sonic leaf.toml -o patch.json",
                "afflux export sonic fabric.toml --switch leaf0 -o leaf0.json",
            ),
        ),
        ("linux", linux.export_linux, ("afflux export linux fabric.toml -o 90-afflux.conf",)),
    ),
    "Flow lists": (
        ("flows", flows.export_flows, ("afflux export flows out/demo-1 -o flows.parquet",)),
    ),
    "Other simulators": (
        (
            "hpcc-topology",
            hpcc.export_hpcc_topology,
            ("afflux export hpcc-topology fabric.toml -o topology.txt",),
        ),
        (
            "hpcc-flows",
            hpcc.export_hpcc_flows,
            ("afflux export hpcc-flows fabric.toml -o flow.txt",),
        ),
        ("hpcc-fct", hpcc.export_hpcc_fct, ("afflux export hpcc-fct out/demo-1 -o fct.txt",)),
        ("htsim", htsim.export_htsim, ("afflux export htsim fabric.toml -o matrix.cm",)),
    ),
}
