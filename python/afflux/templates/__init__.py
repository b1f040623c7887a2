"""Templates of `afflux new`: commented scenarios to start from."""

from dataclasses import dataclass
from pathlib import Path

from .. import spelling

FILES = Path(__file__).parent


@dataclass(frozen=True)
class Template:
    name: str
    #: First line of the file, shown in the list of templates.
    title: str
    text: str
    #: Goals and designs, for a template with several designs: text of a separate file with the
    #: tenants, their goals, and the designs.
    goals: str | None = None


def every() -> list[Template]:
    """Returns all templates, sorted by name."""
    return [_read(path) for path in sorted(FILES.glob("*.toml"))]


def find(name: str) -> Template:
    """Returns the template of this name. Raises `LookupError`."""
    path = FILES / f"{name}.toml"
    if path not in FILES.glob("*.toml"):
        raise LookupError(
            spelling.unknown("template", name, [template.name for template in every()])
        )
    return _read(path)


def _read(path: Path) -> Template:
    text = path.read_text(encoding="utf-8")
    goals = FILES / "goals" / path.name
    return Template(
        path.stem,
        text.partition("\n")[0].removeprefix("# "),
        text,
        goals.read_text(encoding="utf-8") if goals.is_file() else None,
    )
