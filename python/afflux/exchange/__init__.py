"""Imports and exports files of other tools: fabrics, flow lists, captures, logs of jobs.

Each importer returns what it read, and an `Account` of the records it took and dropped, with
reasons. `docs/exchange.md` names each importer with an example.
"""

from .account import Account, Wrong
from .flow_list import FlowList

__all__ = ["Account", "FlowList", "Wrong"]
