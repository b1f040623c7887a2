"""Pages made from notebooks, with text, code and stored outputs."""

import base64
import json
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
FOLDER = REPO / "docs" / "notebooks"


def pages() -> dict[str, str | bytes]:
    """Returns the text of each page, and pictures, by their paths below `docs/`."""
    made: dict[str, str | bytes] = {}
    for path in sorted(FOLDER.glob("*.ipynb")):
        parts: list[str] = []
        for index, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
            text = "".join(cell["source"]).strip("\n")
            if cell["cell_type"] == "markdown":
                parts.append(text)
                continue
            parts.append(f"```python\n{text}\n```")
            for output in cell.get("outputs", []):
                parts.append(shown(output, f"{path.stem}-{index}", made))
        parts.append(f"This page is [{path.name}]({path.name}), which runs in Jupyter.")
        made[f"notebooks/{path.stem}.md"] = "\n\n".join(part for part in parts if part) + "\n"
    return made


def shown(output: dict[str, Any], name: str, made: dict[str, str | bytes]) -> str:
    data = output.get("data", {})
    for kind, suffix in (("image/svg+xml", "svg"), ("image/png", "png")):
        if kind in data:
            content = "".join(data[kind])
            made[f"notebooks/{name}.{suffix}"] = (
                base64.b64decode(content) if suffix == "png" else content.encode()
            )
            return f"![]({name}.{suffix})"
    text = "".join(output.get("text", data.get("text/plain", "")))
    return f"```text\n{text.rstrip()}\n```" if text else ""
