"""The simulator, written in Rust. Use it through `afflux`: this module may change."""

import os
from collections.abc import Callable, Sequence
from typing import Any, final

__version__: str
"""The version of afflux."""
__build__: str
"""Version and commit: `0.3.0+g1234abc`, with `.dirty` if the tree differed from the commit."""

class Error(Exception):
    """Base class of the errors that afflux raises."""

class ScenarioError(Error):
    """An invalid scenario. The message names file, line, key, value found and allowed values."""

    file: str | os.PathLike[str] | None
    """The scenario file; `None` if the error is about no file."""
    line: int | None
    """Line in the file, from 1; `None` if it is not known."""
    key: str | None
    """The key, such as `"switch.ecn.kmin"`; `None` if the error is about no key."""

class RunError(Error):
    """A run that failed."""

class ResultExists(Error):
    """The result directory already exists."""

    path: str | os.PathLike[str]
    """The directory."""

@final
class Progress:
    """Progress of a run. Any thread can read the current values at any time."""

    @property
    def now_ns(self) -> int:
        """Simulated time in nanoseconds."""
    @property
    def packet_hops(self) -> int:
        """Packet-hops simulated so far."""
    @property
    def flows_finished(self) -> int:
        """Number of flows that have finished."""
    @property
    def slowest_guest(self) -> tuple[str, float] | None:
        """Real kernel that has had the clock for the longest real time so far, and this time in
        seconds. `None` without kernels."""
    def view(self) -> View | None:
        """Returns queues and completion times of a recent instant, and requests the next view.
        `None` before the first view, and with the flow-level engine."""

    def cancel(self) -> None:
        """Stops the run soon. Nothing of it is written."""

@final
class View:
    """Queues, counters and completion times at one instant of a run."""

    @property
    def now_ns(self) -> int:
        """Simulated time of the view in nanoseconds."""
    @property
    def queues(self) -> list[tuple[str, int, str, int]]:
        """Longest queues of switches (of hosts if there is no switch), longest first: node, port,
        node at the other end, bytes."""

    @property
    def queued_bytes(self) -> int:
        """Bytes in all queues of switches (of hosts if there is no switch)."""

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
        """Histogram of the completion times in ns of flows that have finished and did not start in
        the warm-up: lower bound, upper bound, count. A step is at most 1.6 % wide."""

    @property
    def slowdown(self) -> list[tuple[float, float, int]]:
        """Histogram of the slowdowns of the same flows as in `fct_ns`: lower bound, upper bound,
        count."""

@final
class Ack:
    """An acknowledgement, as a congestion control written in Python sees it."""

    @property
    def now_ns(self) -> float:
        """Simulated time in nanoseconds."""
    @property
    def rtt_ns(self) -> float | None:
        """Round-trip time in nanoseconds of the newest segment that was sent only once; `None` if
        there is none."""
    @property
    def acked(self) -> int:
        """Number of segments by which the window may grow in slow start. By default: `delivered` if
        the acknowledgement acknowledges new segments in order, otherwise 0. Other settings of the
        transport give fewer in recovery. Not a count of data: sum `delivered` for that."""
    @property
    def delivered(self) -> int:
        """Number of segments newly known to have arrived, in order or not (SACK). The sum counts
        the data that has arrived."""
    @property
    def ece(self) -> bool:
        """True if the acknowledgement echoes an ECN mark."""
    @property
    def may_grow(self) -> bool:
        """True if the window was the limit of the sender, and no loss is being repaired."""
    @property
    def outstanding(self) -> int:
        """Number of segments sent and not yet acknowledged in order."""
    @property
    def state(self) -> str:
        """State of the sender: `"open"`, `"reduced"` (after a mark), `"recovery"` or `"loss"`
        (after a time-out)."""

#: Number of links, their rates in bits per second and their delays in nanoseconds.
_Links = tuple[int, list[int], list[float]]

@final
class Warning:
    """A valid key that has no effect, or another effect than its name says. `str` gives the whole
    line."""

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
        """Reason why the key has no effect."""

@final
class Scenario:
    """A validated scenario."""

    @property
    def name(self) -> str:
        """Name of the scenario. It names its design and its result directory."""
    @property
    def hash(self) -> str:
        """SHA-256 of everything that determines the result."""
    @property
    def resolved(self) -> str:
        """The scenario as TOML, with all defaults as comments."""
    @property
    def notes(self) -> list[str]:
        """Remarks for readers of the result, one sentence each."""
    @property
    def warnings(self) -> list[Warning]:
        """Valid keys that do not do what they seem to say."""
    @property
    def seed(self) -> int:
        """Seed of the run."""
    @property
    def threads(self) -> int:
        """Number of threads of the run."""
    @property
    def until_ns(self) -> int | None:
        """Simulated time in nanoseconds at which the run stops. `None`: it stops when no events
        remain."""
    @property
    def flows(self) -> int:
        """Number of flows, including those of applications, which are estimated."""
    @property
    def expected_end_ns(self) -> int | None:
        """Simulated time in nanoseconds at which applications are expected to end. `None` without
        applications, or if they take too long to be followed."""
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
        """Returns the `[switch]` keys of the switch with this name as TOML, including overrides and
        all defaults. `None` if there is no such switch."""

    @property
    def has_own_congestion(self) -> bool:
        """True if `[host.python]` sets a congestion control written in Python."""
    @property
    def priority_of_dscp(self) -> list[int]:
        """Priority of each DSCP, from `[host] dscp_to_priority`."""
    @property
    def addresses(self) -> list[tuple[str, int]]:
        """IP addresses that the scenario assigns to hosts, with the hosts' numbers."""
    @property
    def edges(self) -> list[tuple[int, int, int, float]]:
        """Both ends of every link as indices of `nodes`, its rate in bits per second and its delay
        in nanoseconds."""
    @property
    def headrooms(self) -> list[tuple[int, int, int, int, int]]:
        """Headroom of every port of a switch with flow control: both ends as indices of `nodes`,
        then in bytes the headroom configured, the result of SONiC's formula, and the minimum with
        which no frame is ever lost."""
    @property
    def has_flow_control(self) -> bool:
        """True if any switch has priority flow control."""
    def expected(self) -> Expected:
        """Estimates the run: bytes, packet-hops, memory. Raises `RunError`."""
    def tiers(
        self,
    ) -> list[
        tuple[
            int,
            str,
            int,
            list[int],
            _Links,
            _Links,
            tuple[float, float] | None,
            list[tuple[str, list[str]]],
        ]
    ]:
        """Tiers of the fabric from the top down: height, name, count, hosts of each rack, links to
        the tier below and within the tier, oversubscription, named hosts of each rack."""
    def flow_list(self) -> tuple[Table, int]:
        """Returns the flows known before the run (`id,start_ns,src,dst,bytes,class,deadline_ns`),
        and the number of flows that start only when others end."""
    def link_faults(self) -> list[tuple[float, int, bool]]:
        """Faults of every link: share of frames that it loses, number of outages, and whether its
        two directions differ."""
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
        """Simulates the scenario. `afflux.Scenario.run` returns an `afflux.Result` instead."""

@final
class Expected:
    """Estimate of a run."""

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
        """Simulated time in nanoseconds at which the run ends."""
    @property
    def cut(self) -> bool:
        """True if flows are still in progress at the end of the run."""
    @property
    def doubt(self) -> tuple[str, list[str]] | None:
        """Reason why the estimate of packet-hops is rough (`faults`, `losses`, `overtaking`,
        `queues`, `copies` or `rates`), and the nodes concerned."""
    @property
    def complete(self) -> bool:
        """False if applications do too much to be followed to their end. The estimate then lacks
        the rest."""
    @property
    def followed(self) -> float:
        """Share of the payload followed flow by flow. The rest is estimated from its size."""
    @property
    def crowding(self) -> float:
        """Factor by which flows limited by a link take longer than at the rate of their NIC."""
    @property
    def memory_bytes(self) -> int: ...
    @property
    def records(self) -> int:
        """Number of rows that `[record]` asks for."""

@final
class Result:
    @property
    def dir(self) -> os.PathLike[str] | None: ...
    @property
    def summary(self) -> str: ...
    @property
    def recorded(self) -> list[str]: ...
    @property
    def kernels(self) -> str | None: ...
    @property
    def kernel_failure(self) -> str | None: ...
    @property
    def kernel_files(self) -> list[tuple[str, bytes]]: ...
    def table(self, name: str) -> Table: ...

@final
class Table:
    """An Arrow table (PyCapsule interface): `pyarrow.table(t)`, `polars.DataFrame(t)`; DuckDB and
    pandas take it too."""

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in their order."""
    def column(self, name: str) -> list[Any]:
        """Returns a column as a list; nulls are `None`."""
    def __getitem__(self, name: str) -> list[Any]: ...
    def __contains__(self, name: str) -> bool: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Model:
    """A model, as a row of `afflux models`."""

    @property
    def kind(self) -> str:
        """Kind of the model, such as `congestion control` or `marking`."""
    @property
    def name(self) -> str:
        """Name of the model. Scenario files use it where they select models."""
    @property
    def source(self) -> str:
        """Paper, standard or program that the model follows."""
    @property
    def faithful(self) -> str:
        """Behaviour that is the same as in the source."""
    @property
    def simplified(self) -> str:
        """Behaviour that is simpler than in the source."""

def load(
    path: str | os.PathLike[str],
    *,
    set: Sequence[tuple[str, str]] = (),
    seed: int | None = None,
    threads: int | None = None,
    most_flows: int | None = None,
) -> Scenario:
    """Reads and validates a scenario file. With `most_flows` about that many flows of each random
    process are drawn: such a scenario is for `expected` and cannot be run."""

def parse(
    text: str,
    path: str | os.PathLike[str],
    *,
    set: Sequence[tuple[str, str]] = (),
    seed: int | None = None,
    threads: int | None = None,
    store: str | os.PathLike[str] | None = None,
) -> Scenario:
    """Parses and validates scenario text. Input files are relative to `path`; with `store` they are
    in that directory, named by their SHA-256."""

def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """Returns the line of an item of a TOML file, from 1, at a path such as `("goal", 2, "within")`:
    that of the key, of the head of the table, or of the item of a list. `None` if the file lacks
    the item."""

@final
class Block:
    """A block of traffic, as far as its scenario describes it."""

    @property
    def name(self) -> str:
        """Name in the names of its jobs."""
    @property
    def jobs(self) -> str | None:
        """Kind of its jobs in results: `"query"`, `"coflow"` or `"job"`; `None`: it has only
        flows."""
    @property
    def classes(self) -> list[str]:
        """Classes of its flows; empty if a list of flows may have some of its own."""

def blocks(text: str, path: str | os.PathLike[str]) -> list[Block]:
    """Reads the blocks of traffic of a scenario, of which other parts may be wrong. Raises
    `ScenarioError` if a block is wrong."""

def schema() -> str:
    """Returns the JSON Schema of scenario files."""

def models() -> list[Model]:
    """Returns every model with its source and its limits."""

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
    """Runs `scenario` in real time between real hosts and returns `live.json` as text. Ctrl-C ends
    the run as its duration would."""

def live_capabilities() -> list[tuple[str, str, bool, str | None, str]]:
    """Returns the requirements of live mode: name, purpose, whether it is mandatory, why it is
    unavailable (`None` if it is available), how to fix that."""

def adopt(files: Sequence[tuple[str, bytes]], out: str | os.PathLike[str]) -> None:
    """Writes these files (name and content) as a result directory, as a run would. An existing
    directory is replaced."""

def clear(out: str | os.PathLike[str]) -> None:
    """Removes the temporary files that killed writers of a result directory left next to it. Does
    nothing while a writer is active."""

def step(what: str, path: str | os.PathLike[str], removes: bool) -> None:
    """Announces a change on disk, for fault-injection tests: the process may be killed here, or the
    disk reported as full."""

def has_faults() -> bool:
    """True if fault injection is on in this process, so that `step` has an effect."""

def read_parquet(path: str | os.PathLike[str]) -> Table: ...
def read_capture(
    path: str | os.PathLike[str], gap_ns: int
) -> tuple[
    Table, list[str], int, int, int, list[tuple[str | None, str | None, int, list[int]]], bool
]:
    """Reads a capture. Returns its flows, the addresses of its hosts, its start time (ns since
    1970), the number of frames, the number of frames used, notes, and whether the file ends within
    a frame. A note has the kind of frames that belong to no flow, a sentence about omitted data,
    the number of such frames, and the first of them."""

def read_flows(
    path: str | os.PathLike[str], format: str, origin_ns: int
) -> tuple[Table, list[str]]:
    """Reads the flows of a flow file in HPCC's format (`"hpcc"`) or of a connection matrix
    (`"htsim"`). Returns them with notes."""

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
def table_of(
    columns: Sequence[
        tuple[str, Sequence[str | None] | Sequence[bool | None] | Sequence[float | None]]
    ],
) -> Table:
    """Returns a table of these named columns. A column has values of one type, and `None`."""

def wrong_name(name: str) -> str | None:
    """Returns the reason why this text cannot be a name, as the end of "expected …". None if it
    can."""

def most_unpacked(packed: int) -> tuple[int, str]:
    """Returns the number of bytes that a compressed file of this size may expand to, and the
    message for a file that exceeds it."""

def write_parquet(table: Table, path: str | os.PathLike[str]) -> None: ...
