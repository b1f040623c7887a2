"""Commands of `afflux`, one per file, registered in `cli`."""

from . import exchange

__all__ = ["exchange"]
