"""`afflux schema`."""

from typing import Annotated

from .. import _core
from ..reference import search
from ..terminal import keys, pager
from ..terminal.console import failures, page, print_json, show
from .options import Json, NoPager, argument

EXAMPLES = (
    "afflux schema switch.ecn",
    "afflux schema host.transport.congestion",
    "afflux schema traffic.incast.senders",
    "afflux schema > scenario.schema.json",
)


def _paths(incomplete: str) -> list[str]:
    return [path for path in search.paths() if path.startswith(incomplete)]


def schema(
    key: Annotated[
        str | None,
        argument(
            "KEY",
            "Path of a key or table, as in switch.ecn.kmin, traffic[0].sizes or traffic.incast.",
            autocompletion=_paths,
        ),
    ] = None,
    as_json: Json = False,
    no_pager: NoPager = False,
) -> None:
    """Explain a key of scenario files: meaning, type, unit, default, range and source. For a table, list its keys. Without KEY, print the JSON Schema of
    scenario files."""
    with failures():
        if key is None:
            page(_core.schema() + "\n", pager.command())
            return
        found = search.merged(search.find(key))
        if as_json:
            print_json([keys.described(one, kinds) for one, kinds in found])
        else:
            show((part for one, kinds in found for part in keys.shown(one, kinds)), paged=True)
