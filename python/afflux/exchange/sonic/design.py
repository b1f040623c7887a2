"""The common form of SONiC's tables and `[switch]`. It is read from either and written to
either."""

from dataclasses import dataclass, field

#: SONiC's default detection time and polling interval of the watchdog, in ms (sonic-utilities,
#: pfcwd).
DETECTION_MS = 200


@dataclass(frozen=True)
class Wred:
    """A WRED profile: thresholds in bytes, probability in percent. `drops`: the curve drops frames
    that are not ECN-capable."""

    kmin: int
    kmax: int
    percent: int
    drops: bool


@dataclass(frozen=True)
class Watchdog:
    """The PFC watchdog. `priorities` are the traffic classes that it monitors; `None` for all
    lossless ones."""

    detection_ms: float
    restoration_ms: float
    poll_ms: float
    action: str
    priorities: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Share:
    """Separate settings of a queue or a priority group: exponent of its alpha, fixed limit and
    reserve in bytes. `None` if the setting is that of the others."""

    th: float | None = None
    limit: int | None = None
    reserved: int | None = None


#: Largest exponent of an alpha in SONiC. A queue with a fixed limit has this alpha, because afflux
#: compares the queue with both.
UNLIMITED_TH = 8


@dataclass(frozen=True)
class Queue:
    """A queue. `weight` is `None` if the queue is strict."""

    priorities: tuple[int, ...]
    weight: int | None
    wred: Wred | None
    share: Share = Share()


@dataclass
class Design:
    """Buffer and QoS settings of a switch. Sizes are in bytes. Alphas are exponents of two, as in
    SAI. `None` if a setting is not given."""

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
    #: Lossless traffic classes, which are the priorities of a scenario.
    lossless: tuple[int, ...] = ()
    #: Settings of priority groups that differ from the others, by traffic class.
    groups: dict[int, Share] = field(default_factory=dict)
    cable_m: float | None = None
    watchdog: Watchdog | None = None
    #: Queues by SONiC's queue number.
    queues: dict[int, Queue] = field(default_factory=dict)
    dscp: dict[int, int] = field(default_factory=dict)
