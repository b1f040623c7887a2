"""Output of importers and exporters: writes all files or none, and prints an account of the records
taken and dropped."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ... import _core
from ...exchange import Account, FlowList
from ...exchange.into import Into
from ...files.delivery import refuse_packed, text_writer
from ...files.durable import Writer
from ...terminal.console import note, print_json, print_text, write_files


def finish(
    out: Path | None,
    content: Writer | str,
    more: dict[Path, Writer],
    accounts: list[Account],
    force: bool,
    as_json: bool,
) -> None:
    """Writes all files or none, and prints the accounts."""
    if as_json and out is None:
        raise ValueError(
            "--json needs -o: the converted data and the JSON cannot both go to stdout"
        )
    files = dict(more)
    if out is not None:
        files[out] = text_writer(out, content) if isinstance(content, str) else content
    write_files(files, force)
    if out is None:
        if not isinstance(content, str):
            raise TypeError("only text is printed")
        print_text(content)
    if as_json:
        print_json(
            {
                "written": [str(path) for path in sorted(files)],
                "records": [account.to_dict() for account in accounts],
            }
        )
        return
    for account in accounts:
        first, *notes = account.lines()
        note(first, "")
        for line in notes:
            note(line)
    for path in sorted(files):
        note(f"written to {path}", "")


@contextmanager
def importing(file: Path, into: Path | None = None) -> Iterator[None]:
    """Converts errors about an imported scenario into errors that name the imported file. If the
    scenario `into` was already invalid, raises the error about that file."""
    try:
        yield
    except _core.ScenarioError as error:
        if into is not None:
            _core.load(into)  # raises the error about this file, with its line
        raise ValueError(_about(file, error)) from None


def _about(file: Path, error: _core.ScenarioError) -> str:
    """Rewords an error of the imported scenario as an error of the imported file, because the user
    has no file with the lines of that scenario."""
    text = re.sub(r" \(key [^()]+, [^()]+:\d+\)$", "", str(error))
    if text.startswith(absolute := str(file.absolute())):
        return str(file) + text.removeprefix(absolute)
    text = text.removeprefix(f"{error.file}:{error.line}: ").removeprefix(f"{error.file}: ")
    return f"{file}: its content makes no valid scenario: {text}"


def flow_list(flows: FlowList, out: Path | None) -> Writer | str:
    return flows.writer(out) if out else "".join(flows.csv())


def companion_path(out: Path | None, given: Path | None, ending: str) -> Path | None:
    """Returns the path of a companion file, such as `flows.hosts.csv` for `flows.csv`."""
    if given is not None or out is None:
        return given
    return out.with_name(
        re.sub(r"(\.csv)?(\.gz|\.xz)?(\.parquet)?(\.tsv)?(\.toml)?$", "", out.name) + ending
    )


def same(one: Path | None, other: Path | None) -> None:
    if one is not None and one == other:
        raise ValueError(f"{one} is named for two outputs")


def scenario_text(text: str, out: Path | None) -> str:
    """Validates the text as a scenario at the path `out` and returns it."""
    # The path appears in no message: `importing` names the user's own file.
    _core.parse(text, out or "scenario.toml")
    return text


def into_of(into: Path | None, out: Path | None) -> Into | None:
    """Returns the scenario that receives an import. Raises `ValueError` if the scenario `out` would
    be packed."""
    refuse_packed(out)
    return Into(into, out) if into is not None else None


def flows_path(flows: Path | None, out: Path | None) -> str | None:
    """Returns the path of the flow list for the scenario: relative to the scenario file, or
    absolute if the scenario is printed."""
    if flows is None:
        return None
    if not flows.is_file():
        raise FileNotFoundError(f"{flows}: there is no such flow list")
    return os.path.relpath(flows, out.parent) if out is not None else str(flows.absolute())
