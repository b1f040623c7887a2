"""Durable files: a file gets its name only when it is complete and on the disk.

    durable.write_text(path, text)

A file is written under a temporary name next to `path`, synchronised to the disk, and renamed. The writer locks the temporary file as long as it lives.
An unlocked temporary file was left by a killed process; the next writer of the same file removes it. Every change on disk is announced to
`_core.step` (docs/dev/faults.md). Result directories are written in Rust, in the same manner (crates/results/src/directory.rs).
"""

import errno
import fcntl
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from .. import _core

#: Function that writes a file to the path it is given.
Writer = Callable[[Path], object]

#: Temporary names used here and for result directories: `of` is the file that is written, `role`
#: the role of the temporary file.
_OURS = re.compile(r"\.(?P<of>.+)\.(?P<role>partial|(?:partial|old)-[0-9a-z-]+|lock)")


class NewFile:
    """A file that is being written. Without a call of `commit`, no file remains.

    with durable.NewFile(path) as new:
        new.partial.write_text(text)
        new.commit()
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.asked = Path(path)
        #: A symbolic link stays. The file that it points to is replaced.
        self.path = Path(os.path.realpath(path))
        if self.asked.exists() and not self.asked.is_file():
            raise IsADirectoryError(
                f"{path} is {'a directory' if self.asked.is_dir() else 'a device'}: name a file"
            )
        with self._named():
            remove_leftovers(self.path.parent, self.path.name)
            self._file: int | None
            self.partial, self._file = _created(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            _step("remove", self.partial, removes=True)
            self.partial.unlink(missing_ok=True)
            os.close(self._file)
            self._file = None
        if isinstance(problem, OSError):
            raise self._about(problem) from None

    def commit(self) -> None:
        """Synchronises the file to the disk and renames it."""
        assert self._file is not None
        with self._named():
            _step("synchronise", self.partial)
            os.fsync(self._file)
            _step("rename", self.path)
            self.partial.rename(self.path)
        os.close(self._file)
        self._file = None
        with self._named():
            synchronise(self.path.parent)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Makes errors name the requested file instead of its temporary name."""
        try:
            yield
        except OSError as error:
            raise self._about(error) from None

    def _about(self, error: OSError) -> OSError:
        if error.errno is None:
            return type(error)(str(error).replace(str(self.partial), str(self.asked)))
        ours = error.filename is None or os.path.basename(error.filename).startswith(
            f".{self.path.name}.partial-"
        )
        return OSError(error.errno, error.strerror, str(self.asked)) if ours else error


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Writes or replaces a file. Afterwards the file has the new text as a whole, or is
    unchanged."""
    with NewFile(path) as new:
        with new.partial.open("wb") as file:
            data = text.encode("utf-8")
            if _core.has_faults():
                _step("write", new.partial)
                file.write(data[: len(data) // 2])
                file.flush()
                data = data[len(data) // 2 :]
                _step("write", new.partial)
            file.write(data)
        new.commit()
    return Path(path)


def write_all(files: Mapping[Path, Writer]) -> None:
    """Writes several files. None of them gets its name before all are complete."""
    with ExitStack() as stack:
        begun = [(stack.enter_context(NewFile(path)), write) for path, write in files.items()]
        for new, write in begun:
            with new._named():
                write(new.partial)
        for new, _ in begun:
            new.commit()


def make_dir(dir: Path) -> None:
    """Creates a directory and its parents."""
    if dir.is_dir():
        return
    make_dir(dir.absolute().parent)
    if os.path.lexists(dir):
        raise NotADirectoryError(f"{dir} is a file: name a directory")
    _step("make", dir)
    dir.mkdir(exist_ok=True)
    synchronise(dir.absolute().parent)


def synchronise(dir: Path) -> None:
    """Synchronises a directory, so that new names in it are on the disk."""
    _step("synchronise", dir)
    handle = os.open(dir, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_ours(name: str) -> bool:
    """True if a name is a temporary name of a writer."""
    return _OURS.fullmatch(name) is not None


def remove_leftovers(dir: Path, of: str | None = None) -> None:
    """Removes leftovers of killed writers: those of one file, or all in a directory that no other
    process uses."""
    with os.scandir(dir) as entries:
        found = [
            (entry, match)
            for entry in entries
            if (match := _OURS.fullmatch(entry.name)) and of in (None, match["of"])
        ]
    for entry, match in found:
        if entry.is_file(follow_symlinks=False) and match["role"] != "lock":
            _remove_unless_locked(Path(entry.path))
    if of is None:
        for name in sorted(
            {
                match["of"]
                for entry, match in found
                if match["role"] == "lock" or entry.is_dir(follow_symlinks=False)
            }
        ):
            _core.clear(dir / name)


def _created(path: Path) -> tuple[Path, int]:
    """Creates a temporary file. Returns its path and its locked descriptor."""
    while True:
        partial = path.with_name(f".{path.name}.partial-{os.urandom(8).hex()}")
        _step("create", partial)
        file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with suppress(OSError):  # some file systems have no locks; leftovers then stay
            fcntl.flock(file, fcntl.LOCK_EX)
        # Another process may have removed the file as a leftover before it was locked.
        if os.fstat(file).st_nlink:
            return partial, file
        os.close(file)


def _remove_unless_locked(partial: Path) -> None:
    try:
        file = os.open(partial, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # already renamed, or owned by another user
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # its writer is still running
        return
    else:
        _step("remove", partial, removes=True)
        partial.unlink(missing_ok=True)
    finally:
        os.close(file)


def _step(what: str, path: Path, removes: bool = False) -> None:
    try:
        _core.step(what, path, removes)
    except OSError:  # this is the requested file
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
