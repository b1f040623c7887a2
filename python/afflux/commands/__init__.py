"""Commands of `afflux`, one per file, registered in `cli`."""

from . import sweep

__all__ = ["sweep"]
