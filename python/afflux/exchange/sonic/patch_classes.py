"""Writes traffic classes, queues and their marking into tables."""

from dataclasses import replace

from .design import Design, Queue
from .edit import Edit
from .ports import CPU, common, each, split


def one_queue(design: Design, before: Design) -> None:
    """Keeps a queue of the tables for a port with one queue. Such a port has no queue blocks in a
    scenario, so only its marking comes from the scenario."""
    if not before.queues or len(design.queues) > 1:
        return
    alone = len(before.queues) == 1
    number = next(iter(before.queues)) if alone or 0 not in before.queues else 0
    wred = next((queue.wred for queue in design.queues.values()), None)
    old = before.queues[number]
    design.queues = {number: replace(old, priorities=tuple(range(8)), wred=wred)}
    if alone:
        design.queues[number] = replace(old, wred=wred)


class Classes(Edit):
    """Changes DSCPs, queues, schedulers and WRED profiles."""

    def classes(self) -> None:
        design, before = self.design, self.before
        if design.dscp and design.dscp != before.dscp:
            name = self.map("dscp_to_tc_map", "DSCP_TO_TC_MAP")
            self.set(
                "DSCP_TO_TC_MAP",
                name,
                {
                    str(dscp): tc
                    for dscp, tc in design.dscp.items()
                    if name not in self.base.get("DSCP_TO_TC_MAP", {})
                    or before.dscp.get(dscp) != tc
                },
            )
            self.refer("dscp_to_tc_map", name)
        priorities = {q: queue.priorities for q, queue in design.queues.items()}
        if priorities and priorities != {q: queue.priorities for q, queue in before.queues.items()}:
            name = self.map("tc_to_queue_map", "TC_TO_QUEUE_MAP")
            self.set(
                "TC_TO_QUEUE_MAP",
                name,
                {str(p): q for q, of_queue in priorities.items() for p in of_queue},
            )
            self.refer("tc_to_queue_map", name)
        for number, queue in design.queues.items():
            old = before.queues.get(number)
            if old is None or old.weight != queue.weight:
                self.attach(number, "scheduler", self.scheduler(queue))
            if queue.wred != (old.wred if old else None):
                if queue.wred is None:
                    self.detach(number, "wred_profile")
                else:
                    self.attach(number, "wred_profile", self.wred(number, queue))

    def queue_of(self, priority: int) -> int:
        return next(
            (
                number
                for number, queue in self.design.queues.items()
                if priority in queue.priorities
            ),
            priority if not self.design.queues else 0,
        )

    def scheduler(self, queue: Queue) -> str:
        wanted = (
            {"type": "STRICT"}
            if queue.weight is None
            else {"type": "DWRR", "weight": str(queue.weight)}
        )
        known = self.tables.setdefault("SCHEDULER", {})
        for name, entry in known.items():
            if entry == wanted:
                return name
        name = next(
            f"scheduler.{n}" for n in range(len(known) + 1) if f"scheduler.{n}" not in known
        )
        known[name] = wanted
        return name

    def wred(self, number: int, queue: Queue) -> str:
        w = queue.wred
        assert w is not None, "the caller has seen it"
        values = {
            f"{colour}_{what}": str(value)
            for colour in ("green", "yellow", "red")
            for what, value in (
                ("min_threshold", w.kmin),
                ("max_threshold", w.kmax),
                ("drop_probability", w.percent),
            )
        }
        values |= {
            f"wred_{colour}_enable": "true" if w.drops else "false"
            for colour in ("green", "yellow", "red")
        }
        known = self.tables.setdefault("WRED_PROFILE", {})
        old = known.get(self.wred_name(number), {})
        before = self.before.queues.get(number)
        if any(field.startswith("ecn_") for field in old):
            marks = {
                f"ecn_{colour}_{what}": str(value)
                for colour in ("green", "yellow", "red")
                for what, value in (
                    ("min_threshold", w.kmin),
                    ("max_threshold", w.kmax),
                    ("mark_probability", w.percent),
                )
            }
            # The import leaves out a drop curve that differs from the marking, so it stays.
            apart = before and before.wred and not before.wred.drops and not w.drops
            values = marks if apart else {**values, **marks}
        wanted = {**old, **values, "ecn": "ecn_all"}
        for name, entry in known.items():
            if entry == wanted:
                return name
        name = self.free("WRED_PROFILE", f"AFFLUX_QUEUE{number}", ("QUEUE", number))
        known[name] = wanted
        return name

    def wred_name(self, number: int) -> str:
        """Returns the WRED profile that most ports have at a queue, or an empty name."""
        entries = self.base.get("QUEUE", {})
        used = [
            profile
            for key, queue, profile in each(entries, "wred_profile")
            if queue == number and split(key)[0] != CPU
        ]
        return common(used)[0] if used else ""

    def attach(self, number: int, field: str, name: str) -> None:
        self.split_ranges("QUEUE", number)
        for port in self.ports("QUEUE"):
            self.set("QUEUE", f"{port}|{number}", {field: name})

    def detach(self, number: int, field: str) -> None:
        self.split_ranges("QUEUE", number)
        for port in self.ports("QUEUE"):
            self.tables.get("QUEUE", {}).get(f"{port}|{number}", {}).pop(field, None)
