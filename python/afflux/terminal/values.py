"""Converts values of the command line without pydantic where possible.

Newer versions of typer convert values with pydantic, whose import takes a third of the start-up
time of a command. This module converts the common cases: strings, paths, numbers in their usual
notation, and options that are not given. typer handles everything else, including the error
messages.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args, get_origin


def convert_here(params: Iterable[Any]) -> None:
    """Makes these parameters convert their values with this module. Versions of typer without these
    attributes keep their own conversion."""
    for param in params:
        if (
            getattr(param, "_runtime_param", ...) is None
            and hasattr(param, "type_descriptor")
            and hasattr(param, "get_runtime_param")
        ):
            param._runtime_param = _Conversion(param.type_descriptor)


class _Conversion:
    """Replacement of the object with which typer converts the values of a parameter."""

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
        """Converts one value; None leaves it to typer."""
        if of is str and type(value) is str:
            return value
        if of is int and (
            type(value) is int
            or (type(value) is str and value.isascii() and value.isdigit() and len(value) < 19)
        ):
            number = int(value)
            inside = (about.min is None or about.min <= number) and (
                about.max is None or number <= about.max
            )
            return number if inside else None
        if (
            of is Path
            and isinstance(value, (str, Path))
            and not (about.exists or about.resolve_path)
            and about.file_okay
            and about.dir_okay
        ):
            # typer refuses files that cannot be read, or cannot be written if that is required.
            wanted = about.readable * os.R_OK | about.writable * os.W_OK
            return Path(value) if os.access(value, wanted) or not os.path.lexists(value) else None
        return None
