"""`afflux report`: results as one HTML file that needs nothing else, neither files nor a network."""

import base64
import html
import json
import os
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

from .. import __version__
from ..comparison import changes
from ..comparison.compare import Comparison, compare
from ..comparison.paired import SAME, Difference
from ..files import durable
from ..metrics import JOB_TIME, Metric
from ..results.designs import Design, Designs, gather
from ..results.result import Result
from ..words import Marked, Words, join, said, say
from . import data
from .lines import Lines, draw

__all__ = ["Lines", "Table", "write"]

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Table:
    """The table under the answer; cells are shown as they are, the first column to the left. `afflux.words.Words` are there in both languages."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def write(
    results: Designs | Iterable[Result | str | os.PathLike[str]],
    path: str | os.PathLike[str],
    *,
    answer: str | None = None,
    table: Table | None = None,
    title: str | None = None,
    figures: Sequence[Lines] = (),
    notes: Sequence[str] = (),
) -> Path:
    """Writes the report of these results, replacing a file of this name.

    Results of one scenario name are one design with several seeds; designs stand side by side. `answer` is the sentence at the top, `figures` what
    is drawn under it, `table` the one below; without them they tell how the designs differ, or what the only one did. The same results give the same
    file.
    """
    designs = gather(results)
    against = compare(designs) if answer is None and len(designs) > 1 else None
    sentence, found = (answer, list(designs.notes)) if answer is not None else _answer(designs, against)
    page = Template((HERE / "page.html").read_text(encoding="utf-8")).substitute(
        name=html.escape(title or ", ".join(designs)),
        title=_both(title or ", ".join(designs)),
        answer=_shown(sentence),
        table=_table(table or _metrics(designs)) + (_table(_verdicts(against)) if against and not table else ""),
        figures=f'<div class="pair">{"".join(map(draw, figures))}</div>' if figures else "",
        notes="".join(f'<p class="note">{_both(note)}</p>' for note in [*notes, *found]),
        about=_about(designs),
        answer_title=_both(say("answer.title")),
        about_title=_both(say("about.title")),
        noscript=_both(say("noscript")),
        made=_both(say("made", version=__version__)),
        style=(HERE / "built" / "style.css").read_text(encoding="utf-8"),
        script=(HERE / "built" / "report.js").read_text(encoding="utf-8"),
        data=_packed(data.of(designs)),
    )
    path = Path(path)
    durable.make_dir(path.parent)
    return durable.write_text(path, page)


def _answer(designs: Designs, against: Comparison | None) -> tuple[str, list[str]]:
    """What the results say, and what is to be known beside."""
    if against:
        return against.sentence(), list(against.notes)
    (design,) = designs.values()
    shown = {metric.name: value for metric in designs.metrics() if (value := design.value(metric))}
    main = [shown[name] for name in (JOB_TIME.name, "fct_p99_ns", "slowdown_p99") if name in shown]
    what = join([say("answer.metric", metric=_title(value.metric), value=value) for value in main] or [say("answer.nothing")], ("; ", "、"))
    if design.deterministic:
        sentences = [say("answer.deterministic", design=design.name, seeds=len(design.seeds), what=what)]
    elif len(design.seeds) > 1:
        sentences = [say("answer.one", design=design.name, seeds=len(design.samples), what=what)]
    else:
        sentences = [say("answer.single", design=design.name, seed=design.seeds[0], what=what)]
    counts = [say("answer.count", value=value.metric.show(value.mean), metric=_title(value.metric)) for value in shown.values() if value.metric.counter]
    if counts:
        sentences.append(say("answer.counts", counts=join(counts, (", ", "、"))))
    censored = any(result.summary["fct"]["all"]["censored"] for result in design.results.values())
    return join(sentences), [*designs.notes, *([say("answer.censored")] if censored else [])]


def _title(metric: Metric) -> str:
    return said(f"metric.{metric.name}", metric.title)


def _metrics(designs: Designs) -> Table:
    """Every metric of every design."""
    several = any(len(design.samples) > 1 for design in designs.values())
    currencies = sorted({result.summary["cost"]["currency"] for design in designs.values() for result in design.results.values() if result.summary.get("cost")})
    rows = []
    for metric in designs.metrics():
        title = say("answer.in", metric=_title(metric), unit=" / ".join(currencies)) if metric.name == "cost" else _title(metric)
        values = [design.value(metric) for design in designs.values()]
        rows.append([title, *("–" if value is None else str(value) for value in values)])
    return Table(say("answer.caption") if several else "", ["", *map(_head, designs.values())], rows)


def _head(design: Design) -> Words:
    """A design with the number of its samples."""
    if design.deterministic:
        return say("answer.seeds.one", design=design.name, seeds=len(design.seeds))
    count = len(design.samples)
    return say("answer.seed" if count == 1 else "answer.seeds", design=design.name, seeds=count)


def _verdicts(found: Comparison) -> Table:
    """Every metric of every design against the baseline; what is established stands out."""
    columns = {design: {d.metric: d for d in found.of(design)} for design in found.designs}
    metrics = [metric for metric in found.of_name.metrics() if any(metric in of_design for of_design in columns.values())]
    rows = [[_title(metric), *(_verdict(of_design.get(metric)) for of_design in columns.values())] for metric in metrics]
    return Table(say("verdict.caption", baseline=found.baseline), ["", *found.designs], rows)


def _verdict(d: Difference | None) -> str:
    if d is None:
        return "–"
    interval = changes.interval(d)
    en = "" if d.verdict == SAME else f"{changes.by(d)} " if interval == "–" else f"{changes.by(d)} ({interval}) "
    change = Words(en, en.replace(" to ", "～"))
    exact = d.deterministic and d.verdict != SAME
    return Marked.of([(say("verdict.exact" if exact else "verdict.cell", change=change, verdict=say(f"verdict.{d.verdict}")), bool(d.established))])


def _shown(answer: str) -> str:
    """The answer; what follows on its first statement stands apart."""
    if not isinstance(answer, Marked):
        return _both(answer)
    first = next((place for place, (_, bold) in enumerate(answer.parts) if bold), 0) + 2
    head, rest = (Marked.of(parts) for parts in (answer.parts[:first], answer.parts[first:]))
    return _both(head) + (f' <span class="rest">{_both(rest)}</span>' if rest else "")


def _both(text: str) -> str:
    """In both languages, one of which the style sheet hides; words without their Japanese are there in any case."""
    if isinstance(text, Marked):
        return " ".join(f"<strong>{_both(part)}</strong>" if bold else _both(part) for part, bold in text.parts)
    if not isinstance(text, Words):
        return html.escape(text)
    if text == text.ja:
        return html.escape(text)
    return f'<span lang="en">{html.escape(text)}</span><span lang="ja">{html.escape(text.ja)}</span>'


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{_both(text)}</th>' for text in table.head)
    rows = "".join(f'<tr><th scope="row">{_both(first)}</th>{"".join(f"<td>{_cell(text)}</td>" for text in rest)}</tr>' for first, *rest in table.rows)
    caption = f"<caption>{_both(table.caption)}</caption>" if table.caption else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(text: str) -> str:
    """An interval in brackets may stand below its value where there is little room."""
    if isinstance(text, Marked):
        return "".join(f"<strong>{_cell(part)}</strong>" if bold else _cell(part) for part, bold in text.parts)
    if isinstance(text, Words):
        return f'<span lang="en">{_bracketed(text)}</span><span lang="ja">{_bracketed(text.ja)}</span>' if " (" in text else _both(text)
    return _bracketed(text)


def _bracketed(text: str) -> str:
    value, bracket, rest = text.partition(" (")
    interval, closed, after = rest.partition(")")
    return f'{html.escape(value)} <span class="interval">({html.escape(interval)})</span>{html.escape(after)}' if bracket and closed else html.escape(text)


def _about(designs: Designs) -> str:
    """What was simulated, so that it can be simulated again."""
    parts = []
    for design in designs.values():
        first = design.first
        lines = [f"<h3>{html.escape(design.name)}</h3>"]
        if text := first.scenario:
            summary = _both(say("about.resolved", seed=first.summary["seed"]))
            lines.append(f'<details><summary>{summary}</summary><pre tabindex="0">{html.escape(text)}</pre></details>')
        hashes = "".join(
            f'<tr><th scope="row">{seed}</th><td><code>{result.summary["result_hash"][:16]}</code></td></tr>' for seed, result in design.results.items()
        )
        head = f'<thead><tr><th scope="col">{_both(say("about.seed"))}</th><th scope="col">{_both(say("about.hash"))}</th></tr></thead>'
        lines.append(f"<details><summary>{_both(say('about.hashes'))}</summary><table>{head}<tbody>{hashes}</tbody></table></details>")
        lines += [f'<p class="note">{html.escape(note)}</p>' for note in first.summary["notes"]]
        lines += [f'<p class="note">{html.escape(one["key"] + ": " + one["text"])}</p>' for one in first.summary.get("warnings", [])]
        parts.append("".join(lines))
    return "".join(parts)


def _packed(value: object) -> str:
    """Deflated JSON in base64: what a page can hold without knowing it."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()
