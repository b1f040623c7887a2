"""Errors of the system and of libraries in plain words: no error numbers, no names of classes."""

import os
import re

#: Additions of Python and Rust to the words of the system.
_NUMBERS = re.compile(r"\[Errno -?\d+\] ?| ?\(os error \d+\)")
_CLASSES = re.compile(r"\b[A-Z]\w*(?:Error|Exception): ")
#: A line of a person's own Python file, whose exceptions keep their names: `'x'` alone says nothing of a KeyError.
_OWN_CODE = re.compile(r"\.py:\d+: ")


def words(error: BaseException | str) -> str:
    """The words of an error. An error of the system names its file."""
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    if isinstance(error, OSError) and error.strerror:
        named = f"{os.fspath(error.filename)!s}: " if error.filename is not None else ""
        return named + _lower(error.strerror)
    text = _NUMBERS.sub("", str(error))
    return (text if _OWN_CODE.search(text) else _CLASSES.sub("", text)).strip() or "it failed without saying why"


def _lower(text: str) -> str:
    """Within a sentence."""
    return text[:1].lower() + text[1:]
