"""afflux: a data-centre network simulator.

    import afflux

    scenario = afflux.load("examples/incast.toml")
    scenario["switch.buffer"] = "9MB"
    result = scenario.run(seed=2)
    print(result.summary["fct"]["all"]["p99_ns"], result.explain().slowest(5))

`result.flows` and the other tables are Arrow tables: `polars.DataFrame(result.flows)`, `pyarrow.table(result.flows)`.
"""

from ._core import Error, Model, Progress, ResultExists, RunError, ScenarioError, Table, __version__, models, schema
from .comparison import Comparison, compare
from .congestion import Ack, CongestionControl
from .designs import Design, Designs
from .explain import Explanation
from .extras import MissingExtra
from .grid import Sweep, sweep
from .result import Result
from .scenario import Scenario, load
from .tuning import Tuning, tune

__all__ = [
    "Ack",
    "Comparison",
    "CongestionControl",
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
    "__version__",
    "compare",
    "load",
    "models",
    "schema",
    "sweep",
    "tune",
]
