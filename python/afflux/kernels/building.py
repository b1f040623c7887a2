"""Builds an image of a kernel from the distribution's source package, without root.

Every step leaves its result under its final name only when it is complete, so a build that was
interrupted continues where it stopped."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .._core import Error
from . import USUAL, directory

#: Programs of the system that a build needs, with the Debian packages that have them.
NEEDED = {
    "gcc": "gcc",
    "make": "make",
    "bc": "bc",
    "xz": "xz-utils",
    "tar": "tar",
    "strip": "binutils",
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
}
#: Programs that are taken from their packages without installing them, with these packages.
FETCHED = {"flex": ("flex", "libfl2", "m4"), "bison": ("bison", "m4")}
#: Timer frequency in Hz, which is that of Debian's own kernels.
HZ = 250
#: Number of files that are compiled, approximately.
FILES = 950
DISK = "2.5 GB while it builds (11 MB afterwards)"

#: Changes of the source: file, text, and its replacement. Random numbers of a guest come from a
#: seed, so that runs repeat.
CHANGES = (
    (
        "arch/um/os-Linux/util.c",
        "\treturn getrandom(buf, len, flags);\n",
        """\tstatic unsigned long long state;
\tunsigned char *byte = buf;
\tsize_t i;

\tif (!state)
\t\tstate = strtoull(getenv("AFFLUX_SEED") ?: "1", NULL, 10);
\tfor (i = 0; i < len; i++) {
\t\tunsigned long long z = state += 0x9e3779b97f4a7c15ULL;

\t\tz = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
\t\tz = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
\t\tbyte[i] = (z ^ (z >> 31)) >> 56;
\t}
\treturn len;
""",
    ),
)


def changes(hz: int) -> tuple[tuple[str, str, str], ...]:
    """Returns all changes for a timer of `hz`."""
    timer = "config HZ\n\tint\n\tdefault {}\n"
    return (*CHANGES, ("arch/um/Kconfig", timer.format(100), timer.format(hz)))


Say = Callable[[str], None]


class BuildError(Error):
    """A kernel that could not be built."""


@dataclass(frozen=True)
class Place:
    """Directories of one build, and the timer frequency of its kernel."""

    version: str
    hz: int = HZ

    @property
    def image(self) -> Path:
        return directory() / self.version

    @property
    def work(self) -> Path:
        name = self.version if self.hz == HZ else f"{self.version}-{self.hz}"
        return directory() / "build" / name

    @property
    def packages(self) -> Path:
        return self.work / "packages"

    @property
    def tools(self) -> Path:
        return self.work / "tools"

    @property
    def source(self) -> Path:
        return self.work / "source"


def build(version: str = USUAL, *, hz: int = HZ, jobs: int, keep: bool, say: Say) -> Path:
    """Builds the image of `version` and returns its directory. `keep` leaves source and objects,
    which a further build would reuse."""
    if not re.fullmatch(r"\d+(\.\d+)*", version):
        raise ValueError(f"{version!r} is no version of a kernel: write one as in {USUAL}")
    place = Place(version, hz)
    facts = place.image / "image.json"
    if facts.is_file():
        if (there := json.loads(facts.read_text(encoding="utf-8"))["hz"]) != hz:
            raise ValueError(
                f"{place.image} has a timer of {there} Hz: build the one of {hz} Hz into another "
                "directory (AFFLUX_KERNELS=…)"
            )
        return place.image
    missing = [package for tool, package in NEEDED.items() if not shutil.which(tool)]
    if missing:
        raise ValueError(
            "building a kernel needs programs that are not installed: "
            f"apt-get install {' '.join(missing)}"
        )
    say(f"Linux {version} for guests: about ten minutes of one processor, {DISK}, in {place.work}")
    place.packages.mkdir(parents=True, exist_ok=True)
    _fetch(place, say)
    _unpack(place, say)
    _configure(place, say)
    _compile(place, jobs, say)
    _install(place)
    if not keep:
        shutil.rmtree(place.work)
    return place.image


def _run(
    command: list[str], what: str, cwd: Path | None = None, env: dict[str, str] | None = None
) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        told = "\n  ".join((done.stderr or done.stdout).strip().splitlines()[-8:])
        raise BuildError(f"{what} failed ({' '.join(command[:3])} …):\n  {told}")
    return done.stdout


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """Gives a directory to fill, which gets the name `target` when it is complete."""
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    yield partial
    partial.rename(target)


def _wanted(version: str) -> list[str]:
    extra = [name for tool, names in FETCHED.items() if not shutil.which(tool) for name in names]
    return [f"linux-source-{version}", "busybox-static", *dict.fromkeys(extra)]


def _fetch(place: Place, say: Say) -> None:
    def lacking() -> list[str]:
        return [
            name for name in _wanted(place.version) if not any(place.packages.glob(f"{name}_*.deb"))
        ]

    for name in lacking():
        say(f"fetching the package {name}")
        with _whole(place.work / f"fetch-{name}") as partial:
            _run(
                ["apt-get", "-o", "APT::Sandbox::User=root", "download", name],
                f"fetching {name} (apt-cache search linux-source lists versions; apt-get update renews the lists)",
                cwd=partial,
            )
            for file in partial.iterdir():
                file.rename(place.packages / file.name)
        (place.work / f"fetch-{name}").rmdir()


def _unpack(place: Place, say: Say) -> None:
    if not place.tools.is_dir():
        with _whole(place.tools) as partial:
            for package in sorted(place.packages.glob("*.deb")):
                if not package.name.startswith("linux-source"):
                    _run(
                        ["dpkg-deb", "-x", str(package), str(partial)], f"unpacking {package.name}"
                    )
    if not place.source.is_dir():
        say("unpacking the source")
        (package,) = place.packages.glob("linux-source-*.deb")
        with _whole(place.work / "unpacked") as partial:
            _run(["dpkg-deb", "-x", str(package), str(partial)], f"unpacking {package.name}")
            (archive,) = (partial / "usr" / "src").glob("linux-source-*.tar.xz")
            _run(["tar", "-C", str(partial), "-xJf", str(archive)], f"unpacking {archive.name}")
            (tree,) = (path for path in partial.glob("linux-source-*") if path.is_dir())
            for file, before, after in changes(place.hz):
                text = (tree / file).read_text(encoding="utf-8")
                if before not in text:
                    raise BuildError(
                        f"Linux {place.version} cannot be built: {file} is not as expected"
                    )
                (tree / file).write_text(text.replace(before, after), encoding="utf-8")
            tree.rename(place.source)
        shutil.rmtree(place.work / "unpacked")


def _environment(place: Place) -> dict[str, str]:
    """Returns the environment in which programs of unpacked packages are found."""
    usr = place.tools / "usr"
    libraries = ":".join(str(path) for path in sorted((usr / "lib").glob("*-linux-gnu")))
    changed = {
        "PATH": f"{usr / 'bin'}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": libraries,
        "KBUILD_BUILD_USER": "afflux",
        "KBUILD_BUILD_HOST": "afflux",
        "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
    }
    if (usr / "share" / "bison").is_dir():
        changed["BISON_PKGDATADIR"] = str(usr / "share" / "bison")
    if (usr / "bin" / "m4").is_file():
        changed["M4"] = str(usr / "bin" / "m4")
    return os.environ | changed


def _configure(place: Place, say: Say) -> None:
    config = place.source / ".config"
    if config.is_file():
        return
    say("configuring")
    shutil.copy(Path(__file__).with_name("kernel.config"), config)
    try:
        _run(
            ["make", "ARCH=um", "olddefconfig"],
            "configuring the kernel",
            cwd=place.source,
            env=_environment(place),
        )
        text = config.read_text(encoding="utf-8")
        for option in ("UML_TIME_TRAVEL_SUPPORT", "VIRTIO_UML", "VIRTIO_NET"):
            if f"CONFIG_{option}=y" not in text:
                raise BuildError(f"Linux {place.version} cannot serve: it has no {option}")
    except BaseException:
        config.unlink(missing_ok=True)
        raise


def _compile(place: Place, jobs: int, say: Say) -> None:
    command = ["make", "ARCH=um", f"-j{jobs}", "linux"]
    log = place.work / "make.log"
    made = sum(1 for _ in place.source.rglob("*.o"))
    shown = 0
    with (
        log.open("w", encoding="utf-8") as out,
        subprocess.Popen(
            command,
            cwd=place.source,
            env=_environment(place),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            out.write(line)
            made += line.startswith("  CC ")
            if (percent := min(100 * made // FILES, 99) // 10 * 10) > shown:
                shown = percent
                say(f"compiling: {percent} %")
    if process.returncode:
        told = "\n  ".join(log.read_text(encoding="utf-8").strip().splitlines()[-8:])
        raise BuildError(f"compiling the kernel failed ({log}):\n  {told}")


def _install(place: Place) -> None:
    with _whole(place.image) as partial:
        _run(["strip", "-o", str(partial / "linux"), str(place.source / "linux")], "strip")
        shutil.copy(place.tools / "bin" / "busybox", partial / "busybox")
        source = Path(__file__).with_name("guest.c")
        program = partial / "guest"
        _run(
            ["gcc", "-O2", "-static", "-s", "-o", str(program), str(source)],
            "compiling the programs of guests",
        )
        release = _run(
            ["make", "-s", "ARCH=um", "kernelrelease"],
            "asking for the release",
            cwd=place.source,
            env=_environment(place),
        )
        (package,) = place.packages.glob("linux-source-*.deb")
        facts = {
            "release": release.strip(),
            "hz": place.hz,
            "package": package.name.removesuffix(".deb").replace("%3a", ":"),
            "compiler": _run(["gcc", "--version"], "gcc").splitlines()[0],
        }
        (partial / "image.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
