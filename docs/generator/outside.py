"""Pages from other folders of the repository, and links from pages to files that are not pages."""

import posixpath
import re
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
SOURCES = "https://github.com/afflux/afflux/blob/main"
#: Address of the published site. Pages that are also read on the forge have links to it, which
#: become links between pages.
SITE = "https://afflux.github.io/afflux/"
EDITED = "https://github.com/afflux/afflux/edit/main"

#: File in the repository to page of the site.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "dev/contributing.md",
    "SECURITY.md": "dev/security.md",
    **{
        f"python/afflux/studies/{path.parent.name}/README.md": f"studies/{path.parent.name}.md"
        for path in sorted((REPO / "python/afflux/studies").glob("*/README.md"))
    },
}

LINK = re.compile(r"(?<!!)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.M | re.S)


def pages() -> dict[str, str]:
    """Returns the text of each page that is not in `docs/`, by its path below `docs/`."""
    return {
        page: text
        for file, page in PAGES.items()
        if not (REPO / "docs" / page).is_file()
        and (text := (REPO / file).read_text(encoding="utf-8"))
    }


def source(page: str) -> str:
    """Returns the file of the repository from which a page of the site is made."""
    return next(
        (
            file
            for file, made in PAGES.items()
            if made == page and not (REPO / "docs" / page).is_file()
        ),
        f"docs/{page}",
    )


def site_links(text: str, page: str) -> str:
    """Converts relative links between files of the repository to links between pages, or to links
    to the sources."""
    here = source(page)

    def moved(match: re.Match[str]) -> str:
        target, hash_, part = match["target"].partition("#")
        if target.startswith(SITE):
            there = target.removeprefix(SITE).replace(".html", ".md") or "index.md"
            return f"[{match['text']}]({posixpath.relpath(there, posixpath.dirname(page) or '.')}{hash_}{part})"
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        file = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
        if file in PAGES:
            there = PAGES[file]
        elif file.startswith("docs/") and (REPO / file).is_file() and Path(file).suffix != ".toml":
            there = file.removeprefix("docs/").replace(".ipynb", ".md")
        elif file == "docs/notebooks":
            there = "notebooks/first-run.md"
        elif (REPO / file).exists():
            return f"[{match['text']}]({SOURCES}/{file})"
        else:
            return match[0]
        return f"[{match['text']}]({posixpath.relpath(there, posixpath.dirname(page) or '.')}{hash_}{part})"

    parts = CODE.split(text)
    return "".join(part if index % 2 else LINK.sub(moved, part) for index, part in enumerate(parts))
