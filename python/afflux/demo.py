"""`make demo`: what ECN with DCTCP does to incast, from two scenario files, within seconds."""

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import track

from . import coflows, load, render, text
from .statistics import quantile

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TRANSPORTS = {"TCP": "incast-tcp.toml", "DCTCP": "incast-dctcp.toml"}
SENDERS = (5, 10, 20, 40)
SEEDS = (1, 2, 3)


@dataclass
class Answer:
    """Of all seeds together."""

    senders: int
    transport: str
    completions_ns: list[int] = field(default_factory=list)
    timeouts: int = 0
    drops: int = 0
    marks: int = 0
    queue_bytes: int = 0
    hops: int = 0


def ask(senders: int, transport: str) -> Answer:
    answer = Answer(senders, transport)
    scenario = load(EXAMPLES / TRANSPORTS[transport]).set("traffic.0.senders", senders)
    for seed in SEEDS:
        result = scenario.run(seed=seed)
        s = result.summary
        answer.completions_ns += [job.completion_ns for job in coflows.jobs(result) if job.completion_ns is not None]
        answer.timeouts += s["timeouts"]
        answer.drops += s["drops"]
        answer.marks += s["ecn_marks"]
        answer.hops += s["packet_hops"]
        answer.queue_bytes = max([answer.queue_bytes, *result.ports.column("queue_bytes_max")])
    answer.completions_ns.sort()
    return answer


def main() -> int:
    if not EXAMPLES.is_dir():
        print(f"error: the demo runs the scenarios of a checkout; {EXAMPLES} is not there", file=sys.stderr)
        return 1
    began = time.monotonic()
    console = Console(highlight=False)
    cases = [(senders, transport) for senders in SENDERS for transport in TRANSPORTS]
    answers = [ask(*case) for case in track(cases, "incast …", console=Console(stderr=True), transient=True)]
    queries = len(answers[0].completions_ns)
    console.print("[bold]Incast: an aggregator asks N workers at once for 1 MB together, over 1 Gbps, 100 packets of buffer per port.[/bold]")
    console.print(f"How long does a query take? {queries:,} queries per row ({len(SEEDS)} seeds). The link alone needs about 8.5 ms.")
    table = render.table("", "workers", "transport", "p50", "p99", "time-outs", "drops", "marks", "queue max", left=2)
    for answer in answers:
        p50, p99 = (quantile(answer.completions_ns, q) for q in (0.5, 0.99))
        counts = map(text.count, (answer.timeouts, answer.drops, answer.marks))
        row = (str(answer.senders), answer.transport, text.time(p50), text.time(p99), *counts, text.size(answer.queue_bytes))
        table.add_row(*row, end_section=answer.transport == "DCTCP", style="green" if answer.transport == "DCTCP" else "")
    console.print(table)
    console.print("DCTCP keeps the queue short by reacting to marks, so answers find room and nobody waits for a time-out.")
    hops = sum(answer.hops for answer in answers)
    console.print(
        f"{hops:,} packet-hops in {time.monotonic() - began:.1f} s. The scenarios: {EXAMPLES.name}/incast-tcp.toml and incast-dctcp.toml.", style="dim"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
