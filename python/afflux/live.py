"""For programs that `afflux live` runs: the real hosts by their numbers, 0 being the one the program itself is in."""

import ctypes
import os
import threading
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")
CLONE_NEWNET = 0x40000000


def hosts() -> int:
    """How many real hosts there are."""
    return int(os.environ["AFFLUX_HOSTS"])


def address(host: int, nic: int = 0) -> str:
    return os.environ[f"AFFLUX_ADDRESSES_{host}"].split()[nic]


def enter(host: int) -> None:
    """Moves the calling thread, and what it starts from then on, into a host. A thread of its own is best: there is no way back but this."""
    namespace = os.open(os.environ[f"AFFLUX_NETNS_{host}"], os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"entering host {host}: {os.strerror(number)}")
    finally:
        os.close(namespace)


def inside(host: int, what: Callable[[], Answer]) -> Answer:
    """What `what` returns, called in a host: sockets and processes made there stay there."""
    answers: list[Answer] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            enter(host)
            answers.append(what())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return answers[0]
