"""MkDocs hook of `mkdocs.yml`: adds the generated pages, adapts links, and completes the
navigation."""

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from docs.generator import api, commands, keys, models, notebooks, outside


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the version into the header, next to the link to the repository, and into the footer."""
    version = tomllib.loads((outside.REPO / "Cargo.toml").read_text(encoding="utf-8"))["workspace"][
        "package"
    ]["version"]
    config.repo_name = f"afflux {version}"
    config.copyright = f"afflux {version}, {config.copyright}"
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for made in (
        models.on_key_pages(keys.pages()),
        models.pages(),
        commands.pages(),
        api.pages(),
        notebooks.pages(),
        outside.pages(),
    ):
        for path, content in made.items():
            files.append(File.generated(config, path, content=content))
    titles = {file.src_uri: title(file) for file in files.documentation_pages()}
    config.nav = complete(config.nav or [], titles)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    # A section with a single page needs no navigation.
    if page.parent is None:
        page.meta.setdefault("hide", ["navigation"])
    if page.edit_url is None and (source := outside.source(page.file.src_uri)) in outside.PAGES:
        page.edit_url = f"{outside.EDITED}/{source}"
    return outside.site_links(markdown, page.file.src_uri)


def title(file: File) -> str:
    """Returns the title of a page from its front matter or its first heading."""
    text = file.content_string
    if found := re.match(r"---\n.*?^title: *(.+?)$.*?^---$", text, re.M | re.S):
        return found[1].strip("'\"").replace("''", "'")
    found = re.search(r"^# +(.+?)(?: *\{.*\})?$", text, re.M)
    return found[1].replace("`", "") if found else Path(file.src_uri).stem


def complete(nav: list[Any], titles: dict[str, str]) -> list[Any]:
    """Expands the navigation. `folder/*` becomes all pages of the folder that are not listed yet,
    `folder/**` also those of its subfolders. Entries without pages are removed."""
    free = set(titles) - set(paths(nav))

    def expand(items: list[Any]) -> list[Any]:
        done: list[Any] = []
        for item in items:
            if isinstance(item, dict):
                ((name, inner),) = item.items()
                if isinstance(inner, list):
                    if expanded := expand(inner):
                        done.append({name: expanded})
                elif inner in titles:
                    done.append(item)
            elif item.endswith("/**"):
                done += tree(item.removesuffix("**"))
            elif item.endswith("*"):
                done += taken(item.removesuffix("*"))
            elif item in titles:
                done.append(item)
        return done

    def taken(prefix: str) -> list[str]:
        """Returns the remaining pages whose paths have this prefix, without those of subfolders."""
        found = [
            path
            for path in free
            if path.startswith(prefix) and path.count("/") == prefix.count("/")
        ]
        free.difference_update(found)
        # Pages of the reference are sorted by name, other pages by title.
        by_name = prefix.startswith("reference/")
        return sorted(
            found,
            key=lambda path: (
                not path.endswith("/index.md"),
                path.removesuffix(".md") if by_name else titles[path].lower(),
            ),
        )

    def tree(prefix: str) -> list[Any]:
        own = taken(prefix)
        folders = sorted(
            {
                path.removeprefix(prefix).partition("/")[0]
                for path in free
                if path.startswith(prefix)
            }
        )
        return [
            *own,
            *(
                {titles.get(f"{prefix}{folder}/index.md", folder): taken(f"{prefix}{folder}/")}
                for folder in folders
            ),
        ]

    return expand(nav)


def paths(items: list[Any]) -> list[str]:
    found: list[str] = []
    for item in items:
        inner = next(iter(item.values())) if isinstance(item, dict) else item
        found += paths(inner) if isinstance(inner, list) else [inner]
    return found
