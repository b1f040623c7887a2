"""L'Ecuyer's combined generator MRG32k3a with streams, like ns-3's (core/model/rng-stream.cc), so
that start times are the same and not only similarly distributed."""

from collections.abc import Iterator
from functools import cache

M1, M2 = 4294967087, 4294944443
A1 = ((0, 1, 0), (0, 0, 1), (-810728, 1403580, 0))
A2 = ((0, 1, 0), (0, 0, 1), (-1370589, 0, 527612))

Matrix = tuple[tuple[int, ...], ...]


def uniform(seed: int, stream: int, run: int) -> Iterator[float]:
    """Yields draws from (0, 1). Streams are 2^127 draws apart, runs 2^76."""
    s, t = [seed] * 3, [seed] * 3
    for log, count in ((127, stream), (76, run)):
        s, t = _jump(A1, log, count, s, M1), _jump(A2, log, count, t, M2)
    while True:
        p = (1403580 * s[1] - 810728 * s[0]) % M1
        q = (527612 * t[2] - 1370589 * t[0]) % M2
        s, t = [s[1], s[2], p], [t[1], t[2], q]
        yield (p - q if p > q else p - q + M1) / (M1 + 1)


def _jump(a: Matrix, log: int, count: int, state: list[int], m: int) -> list[int]:
    """Advances the state by `count` · 2^`log` steps."""
    while count:
        if count & 1:
            power = _power(a, log, m)
            state = [sum(power[i][k] * state[k] for k in range(3)) % m for i in range(3)]
        log, count = log + 1, count >> 1
    return state


@cache
def _power(a: Matrix, log: int, m: int) -> Matrix:
    """Returns the matrix of 2^`log` steps. It is cached, because every stream needs the same
    matrices."""
    if log == 0:
        return a
    half = _power(a, log - 1, m)
    return _times(half, half, m)


def _times(a: Matrix, b: Matrix, m: int) -> Matrix:
    return tuple(
        tuple(sum(a[i][k] * b[k][j] for k in range(3)) % m for j in range(3)) for i in range(3)
    )
