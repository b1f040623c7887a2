"""Commands of `afflux`, one per file, registered in `cli`."""

from . import check, exchange, live, new, plan, sweep, tune, verify

__all__ = ["check", "exchange", "live", "new", "plan", "sweep", "tune", "verify"]
