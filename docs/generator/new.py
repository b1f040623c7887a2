"""Adds a model to the simulator: its file, the lines that register it, and a row of docs/scenario.md.

    python -m docs.generator.new KIND NAME "DESCRIPTION (SOURCE)."

KIND is congestion-control, balancer, aqm, marking or memory, NAME the name in scenarios. The new
file is a copy of the kind's `template.rs`, which works and has a test. docs/dev/add-a-model.md says
how to go on.
"""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
SCENARIO = Path("docs/scenario.md")
#: Words that Rust does not allow as names of modules.
KEYWORDS = "as async await box break const continue crate do dyn else enum extern false fn for if"
KEYWORDS += (
    " impl in let loop match mod move mut pub ref return self static struct super trait true"
)
KEYWORDS += " type unsafe use virtual where while yield"


@dataclass(frozen=True)
class Kind:
    """A kind of model: its folder, the macro that lists its models, the line of a model there, and
    the change of docs/scenario.md."""

    folder: Path
    registry: str
    line: str
    documented: Callable[[str, str, str], str]
    #: Keywords of the line that declares the file. TCP's settings name the keys of its controls, and
    #: those of switches the keys of memories.
    module: str = "mod"


def after_last_row(key: str, value: str = 'kind = "{}"') -> Callable[[str, str, str], str]:
    """Returns a function that adds a row after the last table row that shows the switch's `key`."""

    def documented(text: str, name: str, description: str) -> str:
        last = list(re.finditer(rf"^\| .*`{key} = .*\n", text, re.M))[-1].end()
        row = f"| {description.rstrip('.')} | `{key} = {{ {value.format(name)} }}` |\n"
        return text[:last] + row + text[last:]

    return documented


def in_comment(text: str, name: str, _: str) -> str:
    """Adds the name to the congestion controls that the example of a transport lists."""
    return re.sub(r'(\n    congestion = "cubic" +# .*)', rf"\1, {name}", text, count=1)


def among_memories(text: str, name: str, description: str) -> str:
    """Adds a row to the table of memory management units."""
    row = f'| `"{name}"` | {description.rstrip(".")} | | |\n'
    return re.sub(r"(?<=\|\n)(?=\n`\[switch\.mmu\]` holds)", lambda _: row, text, count=1)


NET = Path("crates/net/src")
KINDS = {
    "congestion-control": Kind(
        NET / "congestion",
        "congestion_controls",
        "{name} {camel}({camel}Config): {camel}({name}::{camel});",
        in_comment,
        "pub mod",
    ),
    "balancer": Kind(
        NET / "balance", "balancers", "{name} {camel}({camel}Config);", after_last_row("balance")
    ),
    "aqm": Kind(
        NET / "queue/aqm", "disciplines", "{name} {camel}({camel}Config);", after_last_row("aqm")
    ),
    "marking": Kind(
        NET / "queue/marking/spacing",
        "spacings",
        "{name} {camel};",
        after_last_row("ecn", 'kmin = "30kB", kmax = "90kB", pmax = 0.1, spacing = "{}"'),
    ),
    "memory": Kind(
        NET / "queue/buffer/mmu",
        "memories",
        "{name} {camel}({camel}Keys, {camel}Rules);",
        among_memories,
        "pub mod",
    ),
}


class Refused(Exception):
    """Reason why a model cannot be added."""


def add(root: Path, kind: str, name: str, description: str) -> list[Path]:
    """Adds a model to the checkout at `root`. Returns the files that it wrote."""
    chosen = KINDS[kind]
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in KEYWORDS.split():
        raise Refused(
            f"NAME {name!r}: write lower-case letters, digits and _, starting with a letter, as in swift_2"
        )
    if not description.endswith("."):
        raise Refused(f"DESCRIPTION {description!r}: write a sentence that ends with a period")
    file, registry = root / chosen.folder / f"{name}.rs", root / chosen.folder / "mod.rs"
    if file.exists():
        raise Refused(f"{file.relative_to(root)} exists: choose another name")
    camel = "".join(part.capitalize() for part in name.split("_"))

    template = (root / chosen.folder / "template.rs").read_text(encoding="utf-8")
    code = template[template.index("\nuse ") :]
    for old, new in (("Template", camel), ("template", name)):
        code = re.sub(rf"(?<![A-Za-z_]){old}(?=Config|Keys|Rules|Mmu|_|\b)", new, code)
    code = re.sub(
        r"^    /// .*\n(?=    pub struct (?:[A-Z]\w*)?Keys)",
        f"    /// {description}\n",
        code,
        flags=re.M,
    )

    lines = registry.read_text(encoding="utf-8")
    modules = re.findall(r"^(?:pub(?:\(\w+\))? )?mod (\w+);$", lines, re.M)
    later = next((other for other in modules if other > name), modules[-1])
    lines = re.sub(
        rf"^(?=(?:#\[.*\]\n)*(?:pub(?:\(\w+\))? )?mod {later};$)",
        f"{chosen.module} {name};\n",
        lines,
        count=1,
        flags=re.M,
    )
    line = chosen.line.format(name=name, camel=camel)
    lines, found = re.subn(
        rf"(macro_rules! {chosen.registry} \{{\n.*?)(\n {{8}}\}}\n)",
        lambda match: f"{match[1]}\n            /// {description}\n            {line}{match[2]}",
        lines,
        count=1,
        flags=re.S,
    )
    assert found, f"{registry} has no macro {chosen.registry}"

    page = root / SCENARIO
    text = chosen.documented(page.read_text(encoding="utf-8"), name, description)
    file.write_text(f"//! {description}\n{code}", encoding="utf-8")
    registry.write_text(lines, encoding="utf-8")
    page.write_text(text, encoding="utf-8")
    return [file.relative_to(root), registry.relative_to(root), SCENARIO]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m docs.generator.new",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("name")
    parser.add_argument("description")
    options = parser.parse_args(arguments)
    try:
        written = add(REPO, options.kind, options.name, options.description)
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 2
    print(*written, sep="\n")
    print("Next: docs/dev/add-a-model.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
