"""Commented scenarios to begin with: `afflux new`."""

from dataclasses import dataclass
from pathlib import Path

from .. import spelling

FILES = Path(__file__).parent


@dataclass(frozen=True)
class Template:
    name: str
    #: A line for the list of templates: the first of the file.
    title: str
    text: str
    #: For a template with several designs: tenants with their goals, and the designs, in a file of their own.
    goals: str | None = None


def every() -> list[Template]:
    """By name."""
    return [_read(path) for path in sorted(FILES.glob("*.toml"))]


def find(name: str) -> Template:
    """Raises `LookupError` if there is none of this name."""
    path = FILES / f"{name}.toml"
    if path not in FILES.glob("*.toml"):
        raise LookupError(spelling.unknown("template", name, [template.name for template in every()]))
    return _read(path)


def _read(path: Path) -> Template:
    text = path.read_text(encoding="utf-8")
    goals = FILES / "goals" / path.name
    return Template(path.stem, text.partition("\n")[0].removeprefix("# "), text, goals.read_text(encoding="utf-8") if goals.is_file() else None)
