"""Images of Linux kernels for `[[host.kernel]]`: where they are, and which there are.

An image is a directory named after the kernel's version: `linux` (User-Mode Linux), `busybox`,
`guest` (programs of afflux for guests) and `image.json`. `building` makes them."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Version that scenarios use if they name none.
USUAL = "6.12"


def directory() -> Path:
    """Returns the directory of all images: AFFLUX_KERNELS, or `afflux/kernels` in the user's
    cache."""
    if chosen := os.environ.get("AFFLUX_KERNELS"):
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "afflux" / "kernels"


@dataclass(frozen=True)
class Image:
    version: str
    path: Path
    #: Content of `image.json`: release, hz, package, gcc.
    facts: dict[str, Any]

    @property
    def bytes(self) -> int:
        return sum(file.stat().st_size for file in self.path.iterdir())


def images() -> list[Image]:
    """Returns the images that there are, in order of their versions."""
    found = []
    base = directory()
    for path in base.iterdir() if base.is_dir() else ():
        facts = path / "image.json"
        # An image that is still being made has another name.
        named = re.fullmatch(r"\d+(\.\d+)*", path.name)
        if named and (path / "linux").is_file() and facts.is_file():
            found.append(Image(path.name, path, json.loads(facts.read_text(encoding="utf-8"))))
    return sorted(found, key=lambda image: [int(part) for part in image.version.split(".")])
