"""Pages about the Python package: names by page. mkdocstrings writes them from signatures and
docstrings, without importing afflux."""

from collections.abc import Iterator
from dataclasses import dataclass

FOLDER = "reference/python"


@dataclass(frozen=True)
class Page:
    """A page about names below `afflux`, and about further objects that these names
    take or return.
    """

    file: str
    title: str
    about: str
    names: tuple[str, ...]
    #: Full path to heading.
    further: dict[str, str]


#: Module to its members that users call or receive.
MEMBERS = {
    "afflux.results.split": (
        "groups",
        "compare",
        "changes",
        "Comparison",
        "Change",
        "Group",
        "Mean",
    ),
    "afflux.report.plot": (
        "completion_times",
        "slowdown_by_size",
        "designs",
        "changes",
        "queues",
        "split",
        "split_difference",
        "swept",
        "lines",
        "NothingToDraw",
    ),
}

PAGES = (
    Page(
        "scenarios.md",
        "Scenarios and runs",
        "Load, change, check and run a scenario. Guide: [scenarios](../../python.md#scenarios), [runs](../../python.md#runs-and-results).",
        ("load", "Scenario", "Progress", "schema", "models", "Model", "__version__"),
        {
            "afflux._core.Scenario": "What `Scenario.check` returns",
            "afflux._core.Warning": "Warning of a scenario",
            "afflux._core.View": "View of a run",
        },
    ),
    Page(
        "results.md",
        "Results",
        "A result in memory or in a directory, its tables, and where the time of its flows went. Guide: [runs and results](../../python.md#runs-and-results), "
        "[files and columns](../../results.md).",
        ("Result", "Table", "Explanation"),
        {
            "afflux.results.explain.Flow": "Flow of an explanation",
            "afflux.results.explain.Sums": "Group of flows",
            "afflux.results.split": "`afflux.split`",
        },
    ),
    Page(
        "comparisons.md",
        "Comparisons and reports",
        "Designs against a baseline, paired by seed. Guide: [comparisons](../../python.md#comparisons), [reports](../../report.md), [figures](../../plot.md).",
        ("compare", "Comparison", "Designs", "Design"),
        {
            "afflux.comparison.paired.Difference": "Difference",
            "afflux.results.designs.Value": "Value of a metric",
            "afflux.metrics.Metric": "Metric",
            "afflux.report.write": "`afflux.report.write`",
            "afflux.report.plot": "`afflux.plot`",
        },
    ),
    Page(
        "batches.md",
        "Sweeps, decisions, tuning and batches",
        "Many simulations, each once, on all cores or a cluster. Guide: [batches](../../python.md#batches), "
        "[sweep](../../sweep.md), [decide](../../decide.md), [tune](../../tune.md).",
        ("sweep", "Sweep", "decide", "Decision", "tune", "Tuning"),
        {
            "afflux.batch.grid.Combination": "Combination of a sweep",
            "afflux.batch.grid.Mean": "Mean of a combination",
            "afflux.tuning.result.Candidate": "Candidate of a search",
            "afflux.tuning.result.Drift": "Sensitivity of a setting",
            "afflux.batch.run": "`afflux.batch.run`",
            "afflux.batch.Point": "`afflux.batch.Point`",
            "afflux.batch.Outcome": "`afflux.batch.Outcome`",
            "afflux.batch.Failure": "`afflux.batch.Failure`",
            "afflux.batch.Watch": "`afflux.batch.Watch`",
        },
    ),
    Page(
        "congestion.md",
        "Congestion controls",
        "A congestion control written in Python. Guide: [your own congestion control](../../python.md#your-own-congestion-control).",
        ("CongestionControl", "Ack"),
        {},
    ),
    Page(
        "errors.md",
        "Errors",
        "Errors of afflux are `afflux.Error`. Wrong arguments are `ValueError`, `LookupError` or `FileNotFoundError`. `UncheckedResult` is a warning.",
        (
            "Error",
            "ScenarioError",
            "RunError",
            "ResultExists",
            "DamagedResult",
            "MissingExtra",
            "UncheckedResult",
        ),
        {},
    ),
)


def pages() -> dict[str, str]:
    """Returns the text of each page, by its path below `docs/`."""
    made = {f"{FOLDER}/{page.file}": body(page) for page in PAGES}
    rows = "".join(
        f"| {', '.join(f'[`{name}`]({page.file}#afflux.{name})' for name in page.names)} | [{page.title}]({page.file}) |\n"
        for page in PAGES
    )
    about = "Every name that `import afflux` gives, from its signature and docstring. [The guide](../../python.md) shows how they work together."
    return {
        f"{FOLDER}/index.md": f"---\ntitle: Python API\n---\n\n# Python API\n\n{about}\n\n| names | page |\n|---|---|\n{rows}",
        **made,
    }


def body(page: Page) -> str:
    return "\n".join(
        [f"---\ntitle: {page.title}\n---\n\n# {page.title}\n\n{page.about}\n", *entries(page)]
    )


def entries(page: Page) -> Iterator[str]:
    """Yields the directives that mkdocstrings replaces by the documentation of an object."""
    for name in page.names:
        yield f"::: afflux.{name}\n"
    for path, heading in page.further.items():
        members = f"      members: [{', '.join(MEMBERS[path])}]\n" if path in MEMBERS else ""
        yield f'::: {path}\n    options:\n      heading: "{heading}"\n      toc_label: "{heading.replace("`", "")}"\n{members}'
