"""`afflux new`."""

import shlex
from pathlib import Path
from typing import Annotated

from ..terminal.console import deliver, failures, print_json, print_text, show, write_files
from .options import OUTPUT, ForceFile, argument, out_option

EXAMPLES = (
    "afflux new",
    "afflux new incast",
    "afflux new leaf-spine -o fabric.toml",
    "afflux new decide fabric.toml -o designs.toml",
    "afflux new standard -o mixture.toml",
)
#: Name of the template that is made from a scenario.
_DECIDE = "decide"


def _names(incomplete: str) -> list[str]:
    from .. import templates

    return [
        name
        for name in (*(template.name for template in templates.every()), _DECIDE)
        if name.startswith(incomplete)
    ]


def new(
    template: Annotated[
        str | None,
        argument(
            "TEMPLATE",
            "Name of a template; without it, the templates are listed.",
            autocompletion=_names,
        ),
    ] = None,
    scenario: Annotated[
        Path | None,
        argument(
            "SCENARIO.toml",
            "With the template decide: the scenario whose designs are to be decided.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        out_option("FILE", "Scenario file to write.", "<template>.toml"),
    ] = None,
    force: ForceFile = False,
    as_json: Annotated[bool, OUTPUT.flag("--json", "List the templates as JSON.")] = False,
) -> None:
    """Write a commented scenario to start from, or list the templates.

    The template standard also writes a file of goals and designs. The template decide writes the
    decision file of an existing scenario.
    """
    from .. import templates
    from ..files.delivery import refuse_packed, text_writer
    from ..terminal.drawing import table

    with failures():
        if template is None:
            if out is not None or force:
                option = "--force" if out is None else f"-o {out}"
                raise ValueError(
                    f"{option}: no template is named: write afflux new TEMPLATE {option}"
                )
            listed = templates.every()
            if as_json:
                print_json([{"template": one.name, "title": one.title} for one in listed])
                return
            made = table("", "template", "", words=[-1])
            for one in listed:
                made.add_row(one.name, one.title)
            made.add_row(
                _DECIDE,
                "Designs and goals of a scenario, for afflux decide (afflux new decide SCENARIO.toml)",
            )
            show([made])
            return
        refuse_packed(out)
        if as_json:
            raise ValueError(f"--json only lists the templates: leave out {template} or --json")
        if template == _DECIDE:
            from ..decision.template import text

            if scenario is None:
                raise ValueError(
                    "the template decide is made from a scenario: write afflux new decide SCENARIO.toml"
                )
            place = out or scenario.with_name(f"{scenario.stem}-designs.toml")
            deliver(text(scenario, place), place, force, [])
            print_text(
                f"written to {place}; next: change designs and goals, then afflux decide {_quoted(place)}\n"
            )
            return
        if scenario is not None:
            raise ValueError(
                f"only the template decide is made from a scenario: leave out {scenario}"
            )
        chosen = templates.find(template)
        place = out or Path(f"{template}.toml")
        if chosen.goals:
            goals = place.with_name(f"{place.stem}-goals.toml")
            write_files(
                {
                    place: text_writer(place, chosen.text),
                    goals: text_writer(goals, chosen.goals),
                },
                force,
            )
            print_text(
                f"written to {place} and {goals}; next: afflux check {_quoted(place)}, "
                f"afflux study {chosen.name} --scenario {_quoted(place)} --goals {_quoted(goals)}\n"
            )
            return
        deliver(chosen.text, place, force, [])
        print_text(
            f"written to {place}; next: afflux check {_quoted(place)}, afflux run {_quoted(place)}\n"
        )


def _quoted(path: Path) -> str:
    """Returns a path as a shell takes it for one word."""
    return shlex.quote(str(path))
