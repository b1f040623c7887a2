"""What SONiC's tables and `[switch]` both say, in one shape: read from either, written to either."""

from dataclasses import dataclass, field

#: SONiC's default detection time and polling interval of the watchdog, in ms (sonic-utilities, pfcwd).
DETECTION_MS = 200


@dataclass(frozen=True)
class Wred:
    """Thresholds in bytes, probability in percent. `drops`: frames that are not ECN-capable are dropped by the curve."""

    kmin: int
    kmax: int
    percent: int
    drops: bool


@dataclass(frozen=True)
class Watchdog:
    """`priorities`: traffic classes that it watches; `None` for all lossless ones."""

    detection_ms: int
    restoration_ms: int
    poll_ms: int
    action: str
    priorities: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Share:
    """What a queue or a priority group has of its own: the exponent of its alpha, a fixed limit and a reserve in bytes. `None`: as the others have it."""

    th: float | None = None
    limit: int | None = None
    reserved: int | None = None


#: The largest exponent of an alpha that SONiC has. A queue with a fixed limit has it, because afflux compares the queue with both.
UNLIMITED_TH = 8


@dataclass(frozen=True)
class Queue:
    """`weight` is `None` where the queue is strict."""

    priorities: tuple[int, ...]
    weight: int | None
    wred: Wred | None
    share: Share = Share()


@dataclass
class Design:
    """Bytes; alphas as exponents of two, as SAI has them. `None`: not said."""

    ingress_pool: int | None = None
    headroom_pool: int | None = None
    lossy_pool: int | None = None
    lossy_th: float | None = None
    lossy_reserved: int | None = None
    lossy_ingress_th: float | None = None
    lossless_th: float | None = None
    lossless_reserved: int | None = None
    headroom: int | None = None
    xon: int | None = None
    xon_offset: int | None = None
    #: Traffic classes, which are the priorities of a scenario.
    lossless: tuple[int, ...] = ()
    #: By traffic class, of priority groups that differ from the others.
    groups: dict[int, Share] = field(default_factory=dict)
    cable_m: float | None = None
    watchdog: Watchdog | None = None
    #: By SONiC's number of the queue.
    queues: dict[int, Queue] = field(default_factory=dict)
    dscp: dict[int, int] = field(default_factory=dict)
