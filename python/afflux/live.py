"""Access to the real hosts, for programs that `afflux live` runs. Real hosts have numbers; the
program runs in host 0."""

import ctypes
import os
import threading
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")
CLONE_NEWNET = 0x40000000


def hosts() -> int:
    """Returns the number of real hosts."""
    return int(os.environ["AFFLUX_HOSTS"])


def address(host: int, nic: int = 0) -> str:
    return os.environ[f"AFFLUX_ADDRESSES_{host}"].split()[nic]


def enter(host: int) -> None:
    """Moves the calling thread, and the threads and processes that it starts later, into a host.
    Use a separate thread: it stays in the host until it calls `enter` again."""
    namespace = os.open(os.environ[f"AFFLUX_NETNS_{host}"], os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"entering host {host}: {os.strerror(number)}")
    finally:
        os.close(namespace)


def inside(host: int, what: Callable[[], Answer]) -> Answer:
    """Calls `what` in a host and returns its answer. Sockets and processes that it makes stay in that host."""
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
