"""Values that Linux and its tools take. Other values are replaced by the nearest one, and `missing`
gets a sentence about it."""

from ..files import toml
from .quantity import seconds, short_time

#: Largest size of a socket buffer in bytes: `tcp_rmem` and `tcp_wmem` have values of 32 bits.
_LARGEST_BUFFER = 2**31 - 1
#: Least and largest value of `tcp_retries2` and `tcp_syn_retries`.
RETRIES, SYN_RETRIES = (0, 255), (1, 127)


def buffer(key: str, bytes: int, missing: list[str]) -> int:
    return within(f"{key}: a buffer of {bytes} B", bytes, (1, _LARGEST_BUFFER), missing)


def within(said: str, value: int, allowed: tuple[int, int], missing: list[str]) -> int:
    """Returns the value of the allowed range that is nearest to `value`, which `said` names."""
    least, most = allowed
    nearest = min(max(value, least), most)
    if value != nearest:
        missing.append(f"{said}: Linux takes {least} to {most}; the file sets {nearest}")
    return nearest


def microseconds(key: str, time: str, missing: list[str]) -> int:
    """Returns a time in whole microseconds, the unit of `tc`."""
    exact = seconds(time) * 1e6
    whole = max(round(exact), 1)
    if abs(exact - whole) > 1e-6:
        missing.append(
            f"{key} = {toml.value(short_time(time))}: tc counts whole microseconds; the file sets {whole} us"
        )
    return whole
