"""Commands of `afflux`, one per file, registered in `cli`."""

from . import sweep, tune

__all__ = ["sweep", "tune"]
