"""`afflux kernel`: images of Linux kernels for `[[host.kernel]]`."""

import time
from typing import Annotated

from ..terminal.console import failures, note, print_json, print_text, show
from .options import EXECUTION, MOST_AT_ONCE, Json, argument, at_most

Version = Annotated[
    str, argument("VERSION", "Version of the kernel, as in 6.12 or 6.1.", show_default=True)
]


def build(
    version: Version = "6.12",
    jobs: Annotated[
        int,
        EXECUTION.option(
            "-j, --jobs",
            "N",
            "Number of compilers at a time.",
            min=1,
            callback=at_most(MOST_AT_ONCE),
        ),
    ] = 1,
    hz: Annotated[
        int,
        EXECUTION.option(
            "--hz",
            "HZ",
            "Timer frequency. Retransmission and delayed-acknowledgement timers step in 1/HZ.",
            min=24,
            max=1000,
        ),
    ] = 250,
    keep: Annotated[bool, EXECUTION.flag("--keep", "Keep source and objects (2.5 GB).")] = False,
) -> None:
    """Build an image from the distribution's source package (Debian, Ubuntu; no root). Takes about
    ten minutes of one processor. A build that was interrupted continues."""
    from ..kernels import building

    with failures():
        image = building.build(
            version, hz=hz, jobs=jobs, keep=keep, say=lambda text: note(text, "")
        )
        print_text(f"kernel {version} is in {image}\n")


def images(as_json: Json = False) -> None:
    """List the images that there are, with release, timer frequency and size."""
    from .. import kernels
    from ..terminal.drawing import table

    with failures():
        found = kernels.images()
        if as_json:
            rows = [
                {"version": image.version, "path": str(image.path), "bytes": image.bytes}
                | image.facts
                for image in found
            ]
            print_json(rows)
            return
        if not found:
            print_text(
                f"no kernels in {kernels.directory()}: build one with  afflux kernel build\n"
            )
            return
        made = table("", "version", "release", "HZ", "MB", "directory", left=2, labels=[-1])
        for image in found:
            made.add_row(
                image.version,
                str(image.facts["release"]),
                str(image.facts["hz"]),
                f"{image.bytes / 1e6:.1f}",
                str(image.path),
            )
        show([made])


def check(version: Version = "6.12") -> None:
    """Boot two guests and let one ping the other over a simulated path of 300 ms. Exits with 0 if
    it measures 300 ms."""
    from ..kernels import trial

    with failures():
        begin = time.monotonic()
        line = trial.ping(version)
        took = time.monotonic() - begin
        print_text(f"kernel {version}: {line} over a path of 300 ms ({took:.1f} s of real time)\n")


#: Commands of `afflux kernel`: name, function, examples.
COMMANDS = (
    ("build", build, ("afflux kernel build", "afflux kernel build 6.1 --jobs 2")),
    ("list", images, ("afflux kernel list", "afflux kernel list --json")),
    ("check", check, ("afflux kernel check", "afflux kernel check 6.1")),
)
