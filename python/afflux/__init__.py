"""afflux: a data-centre network simulator.

    import afflux

    scenario = afflux.load("examples/incast.toml")
    scenario["switch.buffer"] = "9MB"
    result = scenario.run(seed=2)
    print(result.summary["fct"]["all"]["p99_ns"], result.explain().slowest(5))

`result.flows` and the other tables are Arrow tables: `result.flows.to_polars()`, `to_pandas()`, `to_arrow()`, `result.flows[10:20]`, `result.flows["fct_ns"]`.
"""

TYPE_CHECKING = False  # not from `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from . import batch, report
    from ._core import (
        Error,
        Model,
        Progress,
        ResultExists,
        RunError,
        ScenarioError,
        __version__,
        models,
        schema,
    )
    from .batch.grid import Sweep, sweep
    from .comparison.compare import Comparison, compare
    from .congestion import Ack, CongestionControl
    from .decision.decide import Decision, decide
    from .extras import MissingExtra
    from .report import plot
    from .results import split
    from .results.designs import Design, Designs
    from .results.explain import Explanation
    from .results.result import Result, UncheckedResult
    from .results.written import DamagedResult, Table
    from .scenario import Scenario, load
    from .tuning import Tuning, tune

#: Module that defines each public name. `__getattr__` imports it at first use, so that `import
#: afflux` is fast and the program can install its signal handlers first.
_HOMES = {
    "Ack": "congestion",
    "Comparison": "comparison.compare",
    "CongestionControl": "congestion",
    "DamagedResult": "results.written",
    "Decision": "decision.decide",
    "Design": "results.designs",
    "Designs": "results.designs",
    "Error": "_core",
    "Explanation": "results.explain",
    "MissingExtra": "extras",
    "Model": "_core",
    "Progress": "_core",
    "Result": "results.result",
    "ResultExists": "_core",
    "RunError": "_core",
    "Scenario": "scenario",
    "ScenarioError": "_core",
    "Sweep": "batch.grid",
    "Table": "results.written",
    "Tuning": "tuning",
    "UncheckedResult": "results.result",
    "__version__": "_core",
    "compare": "comparison.compare",
    "decide": "decision.decide",
    "load": "scenario",
    "models": "_core",
    "schema": "_core",
    "sweep": "batch.grid",
    "tune": "tuning",
}
#: Documented modules by public name, with their paths inside the package.
_MODULES = {"batch": "batch", "plot": "report.plot", "report": "report", "split": "results.split"}

__all__ = [
    "Ack",
    "Comparison",
    "CongestionControl",
    "DamagedResult",
    "Decision",
    "Design",
    "Designs",
    "Error",
    "Explanation",
    "MissingExtra",
    "Model",
    "Progress",
    "Result",
    "ResultExists",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "Table",
    "Tuning",
    "UncheckedResult",
    "__version__",
    "batch",
    "compare",
    "decide",
    "load",
    "models",
    "plot",
    "report",
    "schema",
    "split",
    "sweep",
    "tune",
]


def __getattr__(name: str):
    import importlib

    if name in _HOMES:
        found = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = found
        return found
    if not name.startswith("__"):
        try:
            return importlib.import_module(f".{_MODULES.get(name, name)}", __name__)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Returns the public names, without modules and import helpers."""
    return sorted(__all__)
