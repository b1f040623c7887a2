"""Commands of `afflux`, one per file, registered in `cli`."""

from . import check, new, sweep, tune

__all__ = ["check", "new", "sweep", "tune"]
