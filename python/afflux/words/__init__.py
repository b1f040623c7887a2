"""Texts of reports, in English and Japanese. All are in words.json, which the page's script reads
too."""

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

#: Languages of the texts. The first one is the default.
LANGUAGES = ("en", "ja")


class Words(str):
    """English text with its Japanese translation."""

    ja: str

    def __new__(cls, en: str, ja: str) -> Self:
        text = super().__new__(cls, en)
        text.ja = ja
        return text

    def __deepcopy__(self, memo: Any) -> Self:
        """Returns the object itself: text is immutable."""
        return self


class Marked(Words):
    """Text of several parts, some of which are highlighted. As a string, it is plain text."""

    parts: tuple[tuple[Words, bool], ...]

    @classmethod
    def of(cls, parts: Sequence[tuple[Words, bool]]) -> "Marked":
        whole = join([part for part, _ in parts])
        marked = cls(str(whole), whole.ja)
        marked.parts = tuple(parts)
        return marked


def say(key: str, **values: Any) -> Words:
    """Returns the text of a key with its placeholders filled in. Values may be `Words`."""
    en, ja = (_every()[key][language] for language in LANGUAGES)
    return Words(
        en.format(**values), ja.format(**{name: japanese(value) for name, value in values.items()})
    )


def said(key: str, english: str) -> str:
    """Returns `english` with its Japanese translation if the key is known."""
    return Words(english, _every()[key]["ja"]) if key in _every() else english


def known(*keys: str) -> Words | None:
    """Returns the text of the first of these keys that exists; None if none exists."""
    return next((say(key) for key in keys if key in _every()), None)


def has(key: str) -> bool:
    return key in _every()


def sentence(text: str) -> str:
    """Translates a name or a sentence written in English elsewhere (a row of a study, a note of the
    engine), if it matches a pattern.

    Patterns are the keys that begin with `row.`, `check.` and `note.`. The values of their
    placeholders are translated too.
    """
    if isinstance(text, Words):
        return text
    for pattern, key in _patterns():
        if match := pattern.fullmatch(text):
            values = {name: sentence(value) for name, value in match.groupdict().items()}
            return Words(
                text,
                _every()[key]["ja"].format(
                    **{name: japanese(value) for name, value in values.items()}
                ),
            )
    return text


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """Returns the patterns, longest text first: the longest match is the most specific."""
    found = []
    for key, words in _every().items():
        if key.startswith(("row.", "check.", "note.")):
            parts = re.split(r"\{(\w+)\}", words["en"])
            text = "".join(
                re.escape(part) if place % 2 == 0 else f"(?P<{part}>.+?)"
                for place, part in enumerate(parts)
            )
            found.append((len("".join(parts[::2])), re.compile(text, re.DOTALL), key))
    return [(pattern, key) for _, pattern, key in sorted(found, key=lambda one: -one[0])]


def join(parts: Sequence[str], between: tuple[str, str] = (" ", "")) -> Words:
    """Joins sentences, with separators for English and Japanese."""
    return Words(between[0].join(parts), between[1].join(map(japanese, parts)))


def capital(words: str) -> Words:
    """Capitalizes the first letter, for a sentence of its own."""
    return Words(f"{words[:1].upper()}{words[1:]}", japanese(words))


def lowered(words: Words) -> Words:
    """With a small letter, as the end of a sentence."""
    return Words(f"{words[:1].lower()}{words[1:]}", words.ja)


def japanese(text: Any) -> Any:
    """Returns the Japanese of `Words`, and any other value unchanged."""
    return text.ja if isinstance(text, Words) else text


def both(text: Words) -> dict[str, str]:
    """Returns the text by language, as the page's script reads it."""
    return {"en": str(text), "ja": text.ja}


@cache
def _every() -> dict[str, dict[str, str]]:
    return json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
