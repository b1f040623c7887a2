"""Values of the command line, without pydantic where it is not needed.

Newer versions of typer convert values with pydantic, whose import takes a third of the time in which a command starts. Texts, paths, numbers as they are
usually written, and options that are not given need no more than what is here. Everything else is left to typer, and so are its messages.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args, get_origin


def convert_here(params: Iterable[Any]) -> None:
    """Has these parameters convert values as this module does. Versions of typer without these names convert as they do."""
    for param in params:
        if getattr(param, "_runtime_param", ...) is None and hasattr(param, "type_descriptor") and hasattr(param, "get_runtime_param"):
            param._runtime_param = _Conversion(param.type_descriptor)


class _Conversion:
    """In place of the object with which typer converts the values of a parameter."""

    def __init__(self, descriptor: Any) -> None:
        self._descriptor = descriptor

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        of, about = self._descriptor.annotation, self._descriptor.parameter_info
        if about.parser is None:
            if several and get_origin(of) is list and isinstance(value, (list, tuple)):
                found = [self._single(one, get_args(of)[0], about) for one in value]
                if None not in found:
                    return found
            elif not several and (found_one := self._single(value, of, about)) is not None:
                return found_one
        param._runtime_param = None
        try:
            return param.get_runtime_param().coerce(value, param=param, ctx=ctx)
        finally:
            param._runtime_param = self

    @staticmethod
    def _single(value: Any, of: Any, about: Any) -> Any:
        """None if it is left to typer."""
        if of is str and type(value) is str:
            return value
        if of is int and (type(value) is int or (type(value) is str and value.isascii() and value.isdigit() and len(value) < 19)):
            number = int(value)
            inside = (about.min is None or about.min <= number) and (about.max is None or number <= about.max)
            return number if inside else None
        if of is Path and isinstance(value, (str, Path)) and not (about.exists or about.resolve_path) and about.file_okay and about.dir_okay:
            # Typer refuses what cannot be read, or written where that is asked for.
            wanted = about.readable * os.R_OK | about.writable * os.W_OK
            return Path(value) if os.access(value, wanted) or not os.path.lexists(value) else None
        return None
