"""An executor that simulates inside the calling process. It is fast, and an example of a custom
executor."""

import json
from collections.abc import Mapping, Sequence

from afflux import __version__, _core
from afflux.executors import Answer, Order
from afflux.worker import build


class Here:
    def __init__(self, last_first: bool = False) -> None:
        self._last_first = last_first
        self._waiting: list[tuple[str, Order]] = []
        self.simulated: list[str] = []

    def __enter__(self) -> "Here":
        return self

    def __exit__(self, *problem: object) -> None:
        self.cancel()

    def claim(self, owner: Mapping[str, str], names: Sequence[str]) -> None:
        """Does nothing, because results stay in this process."""

    def submit(self, key: str, order: Order) -> None:
        self._waiting.append((key, order))

    def ended(self, patience: float) -> list[tuple[str, Answer]]:
        key, order = self._waiting.pop(-1 if self._last_first else 0)
        self.simulated.append(key)
        try:
            loaded = _core.parse(order.text, order.path)
            summary = json.loads(loaded.run(order.out, force=True).summary)
        except _core.Error as error:
            return [(key, Answer(0.0, str(error)))]
        made_by = {"scenario_hash": loaded.hash, "afflux_version": __version__, "build": build()}
        return [
            (
                key,
                Answer(
                    0.0,
                    said={
                        name: summary[name]
                        for name in ("result_hash", "peak_rss_bytes", "packet_hops")
                    }
                    | made_by,
                ),
            )
        ]

    def shares(self) -> Mapping[str, float]:
        return {}

    def cancel(self) -> None:
        self._waiting.clear()
