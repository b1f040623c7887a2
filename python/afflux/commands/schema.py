"""`afflux schema`."""

from .. import _core
from ..terminal import pager
from ..terminal.console import failures, page
from .options import NoPager

EXAMPLES = ("afflux schema > scenario.schema.json",)


def schema(no_pager: NoPager = False) -> None:
    """Print the JSON Schema of scenario files."""
    with failures():
        page(_core.schema() + "\n", pager.command())
