"""Looks up what afflux depends on: licences and known advisories of the Rust crates (cargo-deny, or cargo-audit) and of the Python packages (pip-audit).

Ends with 1 if something is wrong, with 3 if nothing is but not everything could be looked up, which is said.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = "requirements-dev.lock"


def call(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def rust() -> tuple[list[str], list[str]]:
    """Returns the problems found, and the checks that could not be made."""
    wrong, unknown = [], []
    if shutil.which("cargo-deny"):
        done = call(
            "cargo-deny",
            "--offline",
            "check",
            "--hide-inclusion-graph",
            "licenses",
            "bans",
            "sources",
        )
        print(
            f"Rust licences and sources: {'all allowed' if done.returncode == 0 else done.stderr.strip()}"
        )
        if done.returncode:
            wrong.append("licences or sources of Rust crates (deny.toml)")
        done = call("cargo-deny", "check", "--hide-inclusion-graph", "advisories")
        fetched = "failed to fetch" not in done.stderr
    elif shutil.which("cargo-audit"):
        done = call("cargo-audit", "audit")
        fetched = "couldn't fetch" not in done.stderr
        unknown.append(
            "licences of Rust crates: cargo-deny is not installed (cargo install --locked cargo-deny)"
        )
    else:
        return [], [
            "Rust crates: neither cargo-deny nor cargo-audit is installed (cargo install --locked cargo-deny)"
        ]
    if not fetched:
        unknown.append(
            "advisories of Rust crates: their database (github.com/RustSec/advisory-db) cannot be reached"
        )
    elif done.returncode:
        print(done.stderr.strip())
        wrong.append("advisories of Rust crates")
    else:
        print("Rust advisories: none")
    return wrong, unknown


def python() -> tuple[list[str], list[str]]:
    tool = [str(Path(sys.executable).with_name("pip-audit"))]
    if not Path(tool[0]).exists():
        return [], [
            "Python packages: pip-audit is not installed (make audit installs it where a registry can be reached)"
        ]
    done = call(
        *tool,
        "-r",
        LOCK,
        "--no-deps",
        "--disable-pip",
        "--format",
        "json",
        "--progress-spinner",
        "off",
    )
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        return [], [f"Python packages: pip-audit fails: {done.stderr.strip().splitlines()[-1:]}"]
    skipped = [one["name"] for one in packages if "skip_reason" in one]
    found = [
        f"{one['name']} {one['version']}: {vuln['id']}"
        for one in packages
        for vuln in one.get("vulns", [])
    ]
    print(
        f"Python advisories: {', '.join(found) or 'none'} among {len(packages) - len(skipped)} packages that could be looked up"
    )
    unknown = (
        [
            f"Python packages that the registry does not tell of: {len(skipped)} of {len(packages)} ({', '.join(skipped[:3])}, …)"
        ]
        if skipped
        else []
    )
    return found, unknown


def main() -> int:
    (wrong, unknown), (found, missing) = rust(), python()
    for what in unknown + missing:
        print(f"not looked up: {what}", file=sys.stderr)
    for what in wrong + found:
        print(f"wrong: {what}", file=sys.stderr)
    return 1 if wrong + found else 3 if unknown + missing else 0


if __name__ == "__main__":
    sys.exit(main())
