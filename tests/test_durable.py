"""Files get their final name only when they are complete."""

import fcntl
import os
from pathlib import Path

import pytest

from afflux.files import durable


def names(dir: Path) -> list[str]:
    return sorted(path.name for path in dir.iterdir())


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "a.txt"
    assert durable.write_text(path, "old\n") == path
    with durable.NewFile(path) as new:
        new.partial.write_text("new\n")
        assert path.read_text() == "old\n"
        new.commit()
    assert path.read_text() == "new\n"
    assert names(tmp_path) == ["a.txt"]
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_nothing_remains_of_what_was_not_finished(tmp_path):
    with durable.NewFile(tmp_path / "a.txt") as new:
        new.partial.write_text("half")
        assert len(names(tmp_path)) == 1
    assert names(tmp_path) == []

    def fails(path: Path) -> None:
        path.write_text("half")
        raise ValueError("no")

    (tmp_path / "b.txt").write_text("old")
    with pytest.raises(ValueError, match="no"):
        durable.write_all(
            {tmp_path / "a.txt": lambda path: path.write_text("new"), tmp_path / "b.txt": fails}
        )
    assert names(tmp_path) == ["b.txt"]
    assert (tmp_path / "b.txt").read_text() == "old"


def test_leftovers_of_the_dead_go_and_those_of_the_living_stay(tmp_path):
    for name in (".a.txt.partial-1", ".a.txt.partial-2", ".b.txt.partial-1", ".a.txt.partial"):
        (tmp_path / name).touch()
    with (tmp_path / ".a.txt.partial-2").open("w") as living:
        fcntl.flock(living, fcntl.LOCK_EX)
        durable.write_text(tmp_path / "a.txt", "new")
        assert names(tmp_path) == [".a.txt.partial-2", ".b.txt.partial-1", "a.txt"]
    durable.write_text(tmp_path / "a.txt", "newer")
    assert names(tmp_path) == [".b.txt.partial-1", "a.txt"]


def test_errors_name_the_file_that_was_asked_for(tmp_path):
    (tmp_path / "dir").mkdir()
    with pytest.raises(IsADirectoryError, match="dir is a directory: name a file"):
        durable.write_text(tmp_path / "dir", "")
    with pytest.raises(IsADirectoryError, match="/dev/null is a device"):
        durable.write_text("/dev/null", "")
    with pytest.raises(FileNotFoundError) as missing:
        durable.write_text(tmp_path / "none" / "a.txt", "")
    assert missing.value.filename == str(tmp_path / "none")
    with (
        pytest.raises(OSError, match="No space") as full,
        durable.NewFile(tmp_path / "a.txt") as new,
        new.partial.open("w"),
    ):
        raise OSError(28, "No space left on device")
    assert full.value.filename == str(tmp_path / "a.txt")
    assert names(tmp_path) == ["dir"]


def test_what_a_link_points_to_is_replaced(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "link").symlink_to("a.txt")
    durable.write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a.txt").read_text() == "new"


def test_directories_are_made(tmp_path):
    durable.make_dir(tmp_path / "a" / "b")
    durable.make_dir(tmp_path / "a" / "b")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="file is a file: name a directory"):
        durable.make_dir(tmp_path / "file" / "c")
