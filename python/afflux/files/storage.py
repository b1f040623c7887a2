"""Folders on shared storage, by URL: `s3://bucket/folder`, `file:///shared/folder`. Needs fsspec (extra `storage`), and for most schemes another library,
which the error names."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import _core, extras


class StorageError(_core.Error):
    """Shared storage that cannot be reached, read or written."""


class Folder:
    """A folder. Making this object reads and writes nothing. Raises `ValueError` if the text is no URL."""

    def __init__(self, url: str) -> None:
        # A chain of file systems, as in `zip::s3://…`, cannot be written to.
        if not re.fullmatch(r"[a-z][a-z0-9+]*://(?!.*::).+", url):
            raise ValueError(f"{url} is no URL of a folder: write it as in s3://bucket/folder or file:///shared/folder")
        self.url = url.rstrip("/")

    def __truediv__(self, name: str) -> "Folder":
        return Folder(f"{self.url}/{name}")

    def check(self) -> None:
        """Raises `MissingExtra` or `StorageError` if the libraries for this URL are not installed here."""
        self._system()

    def write(self, files: Mapping[str, Path]) -> None:
        """Copies files into the folder, in this order. The last one is removed first, so a folder that has it has all."""
        system, root = self._system()
        *_, last = files
        with _named(self.url):
            system.makedirs(root, exist_ok=True)
            if system.exists(f"{root}/{last}"):
                system.rm_file(f"{root}/{last}")
            for name, path in files.items():
                system.put_file(str(path), f"{root}/{name}")

    def read(self, name: str) -> bytes:
        """A file. Raises `FileNotFoundError` if it does not exist."""
        system, root = self._system()
        with _named(self.url):
            content: bytes = system.cat_file(f"{root}/{name}")
        return content

    def sizes(self) -> Mapping[str, int]:
        """Sizes in bytes of the files in the folder, by name."""
        system, root = self._system()
        with _named(self.url):
            try:
                listed = system.ls(root, detail=True, refresh=True)
            except FileNotFoundError:
                return {}
        return {entry["name"].rpartition("/")[2]: entry["size"] for entry in listed if entry["type"] == "file"}

    def _system(self) -> tuple[Any, str]:
        with extras.needed("storage", self.url):
            import fsspec
        try:
            system, root = fsspec.core.url_to_fs(self.url)
        except Exception as error:  # another library is missing, or the scheme is unknown, or its settings are wrong
            raise StorageError(f"{self.url}: {error}") from None
        return system, root.rstrip("/")


@contextmanager
def _named(url: str) -> Iterator[None]:
    """The errors of whatever library name the URL."""
    try:
        yield
    except FileNotFoundError:
        raise
    except Exception as error:
        raise StorageError(f"{url}: {error or type(error).__name__}") from None
