"""Parses keys of scenarios and paths into results, such as `traffic[0].load`."""

import re

#: Parts of a key between dots. A name in quotes may have dots.
PART = re.compile(r'"[^"]*"|[^."]+')
_NAME = r'(?:"[^"]*"|[^."\[\]]+)'
_KEY = re.compile(rf"{_NAME}(?:\[[^\"\[\]]+\]|\.{_NAME})*")


def split_key(key: str) -> list[str]:
    """Splits a key such as `traffic[0].load` into the names and numbers that lead to it. Raises
    `ValueError`."""
    if not _KEY.fullmatch(key):
        raise ValueError(
            f"{key}: expected names with dots between them, as in switch.buffer; a name with dots stands in double quotes"
        )
    return [
        name
        for part in PART.findall(key)
        for name in ([part[1:-1]] if part.startswith('"') else re.findall(r"[^\[\]]+", part))
    ]
