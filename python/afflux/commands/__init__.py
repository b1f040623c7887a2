"""Commands of `afflux`, one per file, registered in `cli`."""

from . import check, exchange, new, sweep, tune

__all__ = ["check", "exchange", "new", "sweep", "tune"]
