"""Words errors of the system and of libraries plainly: without error numbers and class names."""

import os
import re

#: Error numbers and class names that Python and Rust add to messages.
_NUMBERS = re.compile(r"\[Errno -?\d+\] ?| ?\(os error \d+\)")
_CLASSES = re.compile(r"\b[A-Z]\w*(?:Error|Exception): ")
#: Reference to a line of the user's own Python file. Exceptions there keep their class names,
#: because `'x'` alone does not explain a KeyError.
_OWN_CODE = re.compile(r"\.py:\d+: ")


def words(error: BaseException | str) -> str:
    """Returns the message of an error. An error of the system names its file."""
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    if isinstance(error, OSError) and error.strerror:
        named = f"{os.fspath(error.filename)!s}: " if error.filename is not None else ""
        return named + _lower(error.strerror)
    text = _NUMBERS.sub("", str(error))
    return (
        text if _OWN_CODE.search(text) else _CLASSES.sub("", text)
    ).strip() or "it failed without saying why"


def _lower(text: str) -> str:
    """Makes the first letter lower case, for use within a sentence."""
    return text[:1].lower() + text[1:]
