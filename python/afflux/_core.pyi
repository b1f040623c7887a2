"""The simulator itself, in Rust. `afflux` is the way in; what is here may change."""

import os
from collections.abc import Callable, Sequence
from typing import Any, final

__version__: str

class Error(Exception):
    """Whatever afflux itself refuses or fails at."""

class ScenarioError(Error):
    """A wrong scenario: the message names file, line, key, what was found and what is allowed."""

    file: str | os.PathLike[str] | None
    line: int | None
    key: str | None

class RunError(Error):
    """A run that could not be carried out."""

class ResultExists(Error):
    """The result directory is there already."""

    path: str | os.PathLike[str]

@final
class Progress:
    """Watches a run; current whenever it is read, from any thread."""

    @property
    def now_ns(self) -> int: ...
    @property
    def packet_hops(self) -> int: ...
    @property
    def flows_finished(self) -> int: ...
    def cancel(self) -> None:
        """Stops the run soon; nothing of it is written."""

@final
class Scenario:
    @property
    def name(self) -> str: ...
    @property
    def hash(self) -> str: ...
    @property
    def resolved(self) -> str: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def seed(self) -> int: ...
    @property
    def threads(self) -> int: ...
    @property
    def until_ns(self) -> int | None: ...
    @property
    def flows(self) -> int: ...
    @property
    def hosts(self) -> int: ...
    @property
    def switches(self) -> int: ...
    @property
    def links(self) -> int: ...
    def run(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        force: bool = False,
        on_progress: Callable[[Progress], object] | None = None,
        interval: float = 0.1,
        whole_process: bool = False,
    ) -> Result: ...

@final
class Result:
    @property
    def dir(self) -> os.PathLike[str] | None: ...
    @property
    def summary(self) -> str: ...
    @property
    def recorded(self) -> list[str]: ...
    def table(self, name: str) -> Table: ...

@final
class Table:
    """An Arrow table (PyCapsule interface): `pyarrow.table(t)`, `polars.DataFrame(t)`; DuckDB and pandas take it too."""

    @property
    def column_names(self) -> list[str]: ...
    def column(self, name: str) -> list[Any]:
        """A column as a list; nulls are `None`."""
    def __getitem__(self, name: str) -> list[Any]: ...
    def __contains__(self, name: str) -> bool: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Model:
    """One row of `afflux models`."""

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def faithful(self) -> str: ...
    @property
    def simplified(self) -> str: ...

def load(path: str | os.PathLike[str], *, set: Sequence[tuple[str, str]] = (), seed: int | None = None, threads: int | None = None) -> Scenario: ...
def parse(
    text: str,
    path: str | os.PathLike[str],
    *,
    set: Sequence[tuple[str, str]] = (),
    seed: int | None = None,
    threads: int | None = None,
) -> Scenario: ...
def schema() -> str:
    """The JSON Schema of scenario files."""

def models() -> list[Model]:
    """Every model with its source and its limits."""

def live(
    scenario: Scenario,
    *,
    hosts: str | None = None,
    duration: str | None = None,
    command: Sequence[str] = (),
    bound: str = "100us",
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> str:
    """Runs `scenario` in real time between real hosts; returns `live.json`. Ctrl-C ends it like its time."""

def live_capabilities() -> list[tuple[str, str, bool, str | None, str]]:
    """What live mode needs: name, what for, whether it must be there, why it is not (`None`: it is), what helps."""

def read_parquet(path: str | os.PathLike[str]) -> Table: ...
