"""`afflux schema`."""

from .. import _core
from ..terminal.console import failures

EXAMPLES = ("afflux schema > scenario.schema.json",)


def schema() -> None:
    """Print the JSON Schema of scenario files."""
    with failures():
        print(_core.schema())
