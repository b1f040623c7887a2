"""Other tools' files in and out: fabrics, flow lists, captures, logs of jobs.

Each importer returns what it read and an `Account` of what it took and what it dropped, and why. `docs/exchange.md` names each with an example.
"""

from .account import Account, Wrong
from .flow_list import FlowList

__all__ = ["Account", "FlowList", "Wrong"]
