"""Commented scenarios to begin with: `afflux new`."""

import difflib
from dataclasses import dataclass
from pathlib import Path

FILES = Path(__file__).parent


@dataclass(frozen=True)
class Template:
    name: str
    #: A line for the list of templates: the first of the file.
    title: str
    text: str


def every() -> list[Template]:
    """By name."""
    return [_read(path) for path in sorted(FILES.glob("*.toml"))]


def find(name: str) -> Template:
    """Raises `LookupError` if there is none of this name."""
    path = FILES / f"{name}.toml"
    if path not in FILES.glob("*.toml"):
        names = [template.name for template in every()]
        near = difflib.get_close_matches(name, names, 1)
        raise LookupError(f"there is no template {name!r}{f' (did you mean {near[0]!r}?)' if near else ''}: there are {', '.join(names)}")
    return _read(path)


def _read(path: Path) -> Template:
    text = path.read_text(encoding="utf-8")
    return Template(path.stem, text.partition("\n")[0].removeprefix("# "), text)
