"""Folders on shared storage, by URL: `s3://bucket/folder`, `file:///shared/folder`. Needs fsspec
(extra `storage`), and for most schemes another library, which the error names."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .. import _core, extras
from . import plain


class StorageError(_core.Error):
    """Shared storage cannot be reached, read or written."""


#: Schemes of fsspec whose files no other process can read, and schemes that cannot be written.
_PRIVATE = ("memory", "data", "pyscript")
_READ_ONLY = (
    "http",
    "https",
    "git",
    "github",
    "gist",
    "reference",
    "zip",
    "tar",
    "libarchive",
    "dvc",
    "root",
    "jlab",
    "jupyter",
)
#: File in a folder of results that names the batch they belong to.
_OWNER = "afflux-batch.json"


class Folder:
    """A folder on shared storage. Creating this object reads and writes nothing. Raises
    `ValueError` if the text is not the URL of a folder that all machines can use."""

    def __init__(self, url: str) -> None:
        # A chain of file systems, as in `zip::s3://…`, cannot be written.
        if not re.fullmatch(r"[a-z][a-z0-9+]*://(?!.*::).+", url):
            raise ValueError(
                f"{url} is no URL of a folder: write it as in s3://bucket/folder or file:///shared/folder"
            )
        scheme = url.partition(":")[0]
        if scheme in _PRIVATE:
            raise ValueError(
                f"{url}: results there would be lost, because no other process can read {scheme}://: {_INSTEAD}"
            )
        if scheme in _READ_ONLY:
            raise ValueError(f"{url}: {scheme}:// cannot be written to: {_INSTEAD}")
        self.url = url.rstrip("/")

    def __truediv__(self, name: str) -> "Folder":
        return Folder(f"{self.url}/{name}")

    def check(self) -> None:
        """Raises `MissingExtra` or `StorageError` if the libraries for this URL are not installed
        here."""
        self._system()

    def claim(self, owner: Mapping[str, str], names: Sequence[str]) -> None:
        """Reserves the folder for a batch before its first write. Raises `ValueError` if it
        belongs to another batch. If the folder names no owner, raises it if one of `names`
        already exists."""
        system, root = self._system()
        with _named(self.url):
            there = None
            with suppress(FileNotFoundError):
                there = _owner(system.cat_file(f"{root}/{_OWNER}"))
            if there is not None and there.get("batch") != owner["batch"]:
                raise ValueError(
                    f"{self.url} holds the results of {there.get('dir')} on {there.get('host')}: {_OTHER} {self.url}/…"
                )
            if there is None:
                if held := next((name for name in names if system.exists(f"{root}/{name}")), None):
                    raise ValueError(
                        f"{self.url} holds {held} of another batch: {_OTHER} {self.url}/…"
                    )
                _make(system, root)
                system.pipe_file(f"{root}/{_OWNER}", json.dumps(owner).encode())

    def write(self, files: Mapping[str, Path]) -> None:
        """Copies files into the folder, in this order. The last one is removed first, so a folder
        that has it has all of them."""
        system, root = self._system()
        *_, last = files
        with _named(self.url):
            _make(system, root)
            if system.exists(f"{root}/{last}"):
                system.rm_file(f"{root}/{last}")
            for name, path in files.items():
                system.put_file(str(path), f"{root}/{name}")

    def read(self, name: str) -> bytes:
        """Returns the content of a file. Raises `FileNotFoundError` if it does not exist."""
        system, root = self._system()
        with _named(self.url):
            content: bytes = system.cat_file(f"{root}/{name}")
        return content

    def sizes(self) -> Mapping[str, int]:
        """Returns the sizes in bytes of the files in the folder, by name."""
        system, root = self._system()
        with _named(self.url):
            try:
                listed = system.ls(root, detail=True, refresh=True)
            except FileNotFoundError:
                return {}
        return {
            entry["name"].rpartition("/")[2]: entry["size"]
            for entry in listed
            if entry["type"] == "file"
        }

    def _system(self) -> tuple[Any, str]:
        with extras.needed("storage", self.url):
            import fsspec
        try:
            system, root = fsspec.core.url_to_fs(self.url)
        except Exception as error:  # missing library, unknown scheme or wrong settings
            raise StorageError(f"{self.url}: {plain.words(error)}") from None
        return system, root.rstrip("/")


_INSTEAD = (
    "write a folder that all machines share, as in s3://bucket/folder or file:///shared/folder"
)
_OTHER = "give this one another folder, as in"


def _make(system: Any, root: str) -> None:
    try:
        system.makedirs(root, exist_ok=True)
    except FileNotFoundError:  # e.g. in /proc; the reader would report a missing file
        raise StorageError("the folder cannot be made there") from None


def _owner(content: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    return (
        found
        if isinstance(found, dict)
        else {"dir": "an unknown batch", "host": "an unknown machine"}
    )


@contextmanager
def _named(url: str) -> Iterator[None]:
    """Makes the errors of every library name the URL."""
    try:
        yield
    except (FileNotFoundError, ValueError):
        raise
    except Exception as error:
        raise StorageError(f"{url}: {plain.words(error)}") from None
