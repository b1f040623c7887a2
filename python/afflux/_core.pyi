"""The simulator itself, in Rust. `afflux` is the way in; what is here may change."""

import os
from collections.abc import Callable, Sequence
from typing import Any, final

__version__: str
"""The version of afflux."""
__build__: str
"""Version and commit: `0.3.0+g1234abc`, with `.dirty` if the tree differed from the commit."""

class Error(Exception):
    """Whatever afflux itself refuses or fails at."""

class ScenarioError(Error):
    """A wrong scenario: the message names file, line, key, what was found and what is allowed."""

    file: str | os.PathLike[str] | None
    """The scenario file; `None` if the error is about no file."""
    line: int | None
    """Line in the file, from 1; `None` if it is not known."""
    key: str | None
    """The key, such as `"switch.ecn.kmin"`; `None` if the error is about no key."""

class RunError(Error):
    """A run that could not be carried out."""

class ResultExists(Error):
    """The result directory is there already."""

    path: str | os.PathLike[str]
    """The directory."""

@final
class Progress:
    """Watches a run; current whenever it is read, from any thread."""

    @property
    def now_ns(self) -> int:
        """Simulated time in nanoseconds."""
    @property
    def packet_hops(self) -> int:
        """Packet-hops simulated so far."""
    @property
    def flows_finished(self) -> int:
        """Number of flows that have finished."""
    def view(self) -> View | None:
        """Queues and completion times as they were shortly before; asks for the next view. `None` before the first, and with the engine of flows."""

    def cancel(self) -> None:
        """Stops the run soon; nothing of it is written."""

@final
class View:
    """Queues, and completion times so far."""

    @property
    def now_ns(self) -> int:
        """Simulated time of the view in nanoseconds."""
    @property
    def queues(self) -> list[tuple[str, int, str, int]]:
        """The longest queues of switches (of hosts where there is no switch), longest first: node, port, the node at the other end, bytes."""

    @property
    def queued_bytes(self) -> int:
        """In all of them."""

    @property
    def drops(self) -> int:
        """Frames not admitted at egress so far."""
    @property
    def in_discards(self) -> int:
        """Frames discarded at ingress so far."""
    @property
    def ecn_marks(self) -> int:
        """ECN marks so far."""
    @property
    def pause_frames(self) -> int:
        """PAUSE frames sent so far."""
    @property
    def timeouts(self) -> int:
        """Retransmission time-outs so far."""
    @property
    def fct_ns(self) -> list[tuple[int, int, int]]:
        """Completion times of flows that have ended and do not start in the warm-up, in steps of at most 1.6 %: from, to, count."""

    @property
    def slowdown(self) -> list[tuple[float, float, int]]:
        """Their slowdowns."""

@final
class Ack:
    """What an acknowledgement says to a congestion control written in Python."""

    @property
    def now_ns(self) -> float:
        """Simulated time."""
    @property
    def rtt_ns(self) -> float | None:
        """Round trip of the newest segment that was sent once; `None` without such."""
    @property
    def acked(self) -> int:
        """Segments newly acknowledged in order."""
    @property
    def delivered(self) -> int:
        """Segments newly known to have arrived, in order or not."""
    @property
    def ece(self) -> bool:
        """The echo of a mark."""
    @property
    def may_grow(self) -> bool:
        """The window was what limited the sender, and nothing is being repaired."""
    @property
    def outstanding(self) -> int:
        """Segments sent and not acknowledged in order."""
    @property
    def state(self) -> str:
        """`"open"`, `"reduced"` (after a mark), `"recovery"` or `"loss"` (after a time-out)."""

#: Count, rates in bits per second and delays in nanoseconds.
_Links = tuple[int, list[int], list[float]]

@final
class Warning:
    """A key that is valid and yet has no effect, or not the one that its name says; `str` gives the whole line."""

    @property
    def file(self) -> os.PathLike[str]:
        """The scenario file."""
    @property
    def line(self) -> int | None:
        """Line in the file, from 1; `None` if it is not known."""
    @property
    def key(self) -> str:
        """The key that has no effect."""
    @property
    def text(self) -> str:
        """Why it has none."""

@final
class Scenario:
    """A validated scenario."""

    @property
    def name(self) -> str:
        """The scenario's name: that of its designs, and of its result directory."""
    @property
    def hash(self) -> str:
        """SHA-256 of all that determines the result."""
    @property
    def resolved(self) -> str:
        """As TOML: what was written, and all defaults as comments."""
    @property
    def notes(self) -> list[str]:
        """What a reader of the result should know, in sentences."""
    @property
    def warnings(self) -> list[Warning]:
        """What is valid and yet does not do what it seems to say."""
    @property
    def seed(self) -> int:
        """The seed with which it runs."""
    @property
    def threads(self) -> int:
        """Number of threads with which it runs."""
    @property
    def until_ns(self) -> int | None:
        """Simulated time in nanoseconds at which the run stops; `None`: when nothing is left to happen."""
    @property
    def flows(self) -> int:
        """Number of flows, those of applications included."""
    @property
    def hosts(self) -> int:
        """Number of hosts."""
    @property
    def switches(self) -> int:
        """Number of switches."""
    @property
    def links(self) -> int:
        """Number of links."""
    @property
    def nodes(self) -> list[tuple[str, str, int, int | None]]:
        """Name, `"host"` or `"switch"`, height above the hosts, and rack or pod of every node."""
    def switch_settings(self, name: str) -> str | None:
        """The keys of `[switch]` that hold for a switch of this name, overrides and every default included, as TOML. `None`: there is no such switch."""

    @property
    def has_own_congestion(self) -> bool:
        """Is a congestion control written in Python, as `[host.python]` says?"""
    @property
    def priority_of_dscp(self) -> list[int]:
        """The priority of each DSCP, as `[host] dscp_to_priority` says."""
    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Addresses that the scenario gives to hosts, and their numbers."""
    @property
    def edges(self) -> list[tuple[int, int, int, float]]:
        """Both ends of every link as indices of `nodes`, its rate in bits per second and its delay in nanoseconds."""
    @property
    def headrooms(self) -> list[tuple[int, int, int, int, int]]:
        """Of every port of a switch with flow control: both ends as indices of `nodes`, its headroom, what SONiC's formula gives, and the least
        with which nothing is ever lost, in bytes."""
    @property
    def has_flow_control(self) -> bool:
        """Whether any switch has priority flow control."""
    def expected(self) -> Expected:
        """Estimate of the run: bytes, packet-hops, memory. Raises `RunError`."""
    def tiers(self) -> list[tuple[int, str, int, list[int], _Links, _Links, tuple[float, float] | None, list[tuple[str, list[str]]]]]:
        """From the top down: height, name, count, hosts of each rack, links to the tier below and within, oversubscription, named hosts of each rack."""
    def flow_list(self) -> tuple[Table, int]:
        """The flows known beforehand (`id,start_ns,src,dst,bytes,class,deadline_ns`), and how many start only when others end."""
    def link_faults(self) -> list[tuple[float, int, bool]]:
        """Of every link the share of frames that it loses, how often it is down, and whether its directions differ."""
    def run(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        force: bool = False,
        repair: bool = False,
        on_progress: Callable[[Progress], object] | None = None,
        interval: float = 0.1,
        whole_process: bool = False,
        congestion: Callable[[], object] | None = None,
        paced: bool = False,
    ) -> Result:
        """Simulates it. `afflux.Scenario.run` returns the result as an `afflux.Result`."""

@final
class Expected:
    """What a run will come to."""

    @property
    def payload_bytes(self) -> int: ...
    @property
    def packet_hops(self) -> int: ...
    @property
    def least_hops(self) -> int: ...
    @property
    def most_hops(self) -> int: ...
    @property
    def flows(self) -> int: ...
    @property
    def end_ns(self) -> int:
        """When it ends."""
    @property
    def cut(self) -> bool:
        """Flows are then under way."""
    @property
    def doubt(self) -> tuple[str, list[str]] | None:
        """Why packet-hops are not known more closely (`losses`, `overtaking`, `queues`, `copies`, `rates`), and at which nodes."""
    @property
    def complete(self) -> bool:
        """False: applications do too much to be followed to their end."""
    @property
    def followed(self) -> float:
        """Part of the payload that was followed flow by flow; the rest is counted by its size."""
    @property
    def crowding(self) -> float:
        """How many times longer flows that a link limits take than at the rate of their NIC."""
    @property
    def memory_bytes(self) -> int: ...
    @property
    def records(self) -> int:
        """Rows that `[record]` asks for."""

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
    def column_names(self) -> list[str]:
        """The names of the columns, in their order."""
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
    def kind(self) -> str:
        """What it models, such as `congestion control` or `marking`."""
    @property
    def name(self) -> str:
        """Name, as scenario files write it where they choose it."""
    @property
    def source(self) -> str:
        """The paper, standard or program that it follows."""
    @property
    def faithful(self) -> str:
        """What is as in the source."""
    @property
    def simplified(self) -> str:
        """What is simpler than in the source."""

def load(
    path: str | os.PathLike[str],
    *,
    set: Sequence[tuple[str, str]] = (),
    seed: int | None = None,
    threads: int | None = None,
    most_flows: int | None = None,
) -> Scenario:
    """With `most_flows` only about so many flows of each random process are drawn: such a scenario is for `expected`, and cannot be run."""

def parse(
    text: str,
    path: str | os.PathLike[str],
    *,
    set: Sequence[tuple[str, str]] = (),
    seed: int | None = None,
    threads: int | None = None,
    store: str | os.PathLike[str] | None = None,
) -> Scenario:
    """Inputs are relative to `path`; with `store` they are in this directory, under their SHA-256."""

def schema() -> str:
    """The JSON Schema of scenario files."""

def models() -> list[Model]:
    """Every model with its source and its limits."""

def live(
    scenario: Scenario,
    *,
    hosts: str | None = None,
    attach: Sequence[str] = (),
    duration: str | None = None,
    command: Sequence[str] = (),
    bound: str = "100us",
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> str:
    """Runs `scenario` in real time between real hosts; returns `live.json`. Ctrl-C ends it like its time."""

def live_capabilities() -> list[tuple[str, str, bool, str | None, str]]:
    """What live mode needs: name, what for, whether it must be there, why it is not (`None`: it is), what helps."""

def adopt(files: Sequence[tuple[str, bytes]], out: str | os.PathLike[str]) -> None:
    """Writes a result directory of these files, by name and content, as a run would have done; one that exists is replaced."""

def clear(out: str | os.PathLike[str]) -> None:
    """Removes what killed writers of a result directory left beside it. Does nothing while one is at work."""

def step(what: str, path: str | os.PathLike[str], removes: bool) -> None:
    """Announces a change on disk, for tests: the process may be killed here, or the disk found full."""

def has_faults() -> bool:
    """Does `step` do anything in this process?"""

def read_parquet(path: str | os.PathLike[str]) -> Table: ...
def read_capture(
    path: str | os.PathLike[str], gap_ns: int
) -> tuple[Table, list[str], int, int, int, list[tuple[str | None, str | None, int, list[int]]], bool]:
    """Flows of a capture, their hosts' addresses, its begin, frames, frames used, notes, whether it ends within a frame. A note is what
    frames in no flow are, a sentence on what was left out, how many frames, the first of them."""

def read_flows(path: str | os.PathLike[str], format: str, origin_ns: int) -> tuple[Table, list[str]]:
    """The flows of a file of HPCC's form (`"hpcc"`) or a connection matrix (`"htsim"`), and notes."""

def flow_table(
    start_ns: Sequence[int],
    src: Sequence[int] | Sequence[str],
    dst: Sequence[int] | Sequence[str],
    bytes: Sequence[int],
    classes: Sequence[str | None] | None = None,
    deadlines_ns: Sequence[int | None] | None = None,
    ids: Sequence[int] | None = None,
    dscps: Sequence[int | None] | None = None,
    priorities: Sequence[int | None] | None = None,
) -> Table: ...
def table_of(columns: Sequence[tuple[str, Sequence[str | None] | Sequence[bool | None] | Sequence[float | None]]]) -> Table:
    """A table of these columns, by name. A column has values of one type, and `None`."""

def wrong_name(name: str) -> str | None:
    """Why this text cannot be a name, as the end of "expected …"; None if it can."""

def most_unpacked(packed: int) -> tuple[int, str]:
    """How many bytes may come out of a compressed file of this size, and what to say where more do."""

def write_parquet(table: Table, path: str | os.PathLike[str]) -> None: ...
