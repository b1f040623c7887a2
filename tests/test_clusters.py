"""Sweeps and studies on clusters whose workers share no path with the sender. During the run one
worker is killed, another one joins, and the inputs disappear. The table must be byte-identical to
the table of a local run."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import INCAST, REPO
from tiny_study import Tiny

import afflux
from afflux import _core, studies
from afflux.batch import Silent
from afflux.batch.verification import verify
from afflux.executors import Order, remote
from afflux.files import toml
from fuzz import kills

#: A scenario with every kind of input.
SCENARIO = (
    INCAST.replace(
        'kind = "star"\nhosts = 9\nrate = "10Gbps"\ndelay = "1us"',
        'kind = "hpcc"\nfile = "inputs/topology.txt"',
    )
    .replace('bytes = "200kB"\nrounds = 3', 'bytes = "20kB"\nrounds = 2')
    .replace("paths = true", "")
    .replace(
        "[record]",
        """\
[[traffic]]
kind = "flows"
file = "inputs/flows.csv"

[[traffic]]
kind = "random"
load = 0.1
load_basis = "host_wire"
duration = "5ms"
sizes = "inputs/sizes.txt"
matrix = "inputs/matrix.json"

[host.python]
file = "inputs/sleeper.py"

[record]""",
    )
)
INPUTS = {
    "topology.txt": "10 1 9\n9\n" + "".join(f"{host} 9 10Gbps 1us 0\n" for host in range(9)),
    "flows.csv": "id,start_ns,src,dst,bytes\n1,0,1,2,50000\n2,1000,3,4,70000\n",
    "sizes.txt": "1000 0\n20000 0.5\n90000 1\n",
    "matrix.json": json.dumps([[1.0] * 1] * 1),
    "sleeper.py": kills.SLEEPER,
}
#: Two points are short. Two take a second or more, because progress reports of shorter points
#: arrive after their end. These points sleep for most of the time, at the first acknowledgement of
#: each flow.
SHORT, LONG = 2, 50
VARY = {"switch.buffer": ["9packets", "90packets"], "traffic.0.rounds": [SHORT, LONG]}
FEW = VARY | {"traffic.0.rounds": [SHORT]}
#: Rounds of the study's points. During the second one, a busy worker is found and killed.
ROUNDS = 30
#: Files of each result directory.
FILES = {
    "scenario.toml",
    "summary.json",
    "flows.parquet",
    "links.parquet",
    "ports.parquet",
    "jobs.parquet",
}


def write(place: Path) -> Path:
    (place / "inputs").mkdir(parents=True)
    for name, content in INPUTS.items():
        (place / "inputs" / name).write_text(content)
    (place / "small.toml").write_text(SCENARIO)
    return place / "small.toml"


def hiding(place: Path) -> Sequence[str]:
    """Returns the prefix of a command for which this directory is empty, or nothing if the system
    does not permit this."""
    prefix = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(place)]
    permitted = shutil.which("unshare") and subprocess.run(
        [*prefix, "ls", place], capture_output=True, text=True
    )
    return prefix if permitted and (permitted.returncode, permitted.stdout) == (0, "") else ()


class Disturb(Silent):
    """Moves the inputs away and disturbs a cluster once a point is running there."""

    def __init__(self, place: Path, disturb: Callable[[], bool]) -> None:
        self._inputs, self._disturb = place / "inputs", disturb
        self.disturbed = False
        #: Largest share of a running point that was reported.
        self.largest = 0.0

    def running(self, shares: Mapping[str, float]) -> None:
        self.largest = max([self.largest, *shares.values()])
        if shares and self._inputs.exists():
            self._inputs.rename(self._inputs.with_name("elsewhere"))
        if shares and not self.disturbed:
            self.disturbed = self._disturb()

    def restore(self) -> None:
        self._inputs.with_name("elsewhere").rename(self._inputs)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """Returns the directory of the sender, with the results of a local sweep and a local study."""
    place = tmp_path_factory.mktemp("sender")
    scenario = write(place)
    afflux.sweep(scenario, VARY, seeds=[1], out=place / "local-sweep")
    studies.carry_out(Tiny(scenario, rounds=ROUNDS), out=place / "local-study")
    return place


@contextmanager
def dask(dir: Path, hidden: Path) -> Iterator[tuple[str, Callable[[], bool]]]:
    """Yields the address of a cluster of two workers, and a function that kills a busy worker and
    starts a new one."""
    if importlib.util.find_spec("distributed") is None:
        pytest.skip("needs the Python package distributed")
    with kills.cluster(dir, 2, hiding(hidden)) as (address, running, another):

        def disturb() -> bool:
            busy = [
                worker for worker in running if worker.poll() is None and kills.children(worker.pid)
            ]
            for worker in busy[:1]:
                worker.kill()
                another()
            return bool(busy)

        yield address, disturb


@contextmanager
def ray(dir: Path, hidden: Path) -> Iterator[tuple[str, Callable[[], bool]]]:
    """Yields the address of a head without processors and two nodes, and a function that kills a
    busy node and starts a new one."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("needs the Python package ray")
    nodes: list[Path] = []

    def node(*options: str, prefix: Sequence[str] = ()) -> str:
        own = dir / f"node-{len(nodes)}"
        own.mkdir()
        nodes.append(own)
        command = [
            *prefix,
            sys.executable,
            "-m",
            "ray.scripts.scripts",
            "start",
            "--object-store-memory",
            "100000000",
            "--disable-usage-stats",
            *options,
        ]
        environment = os.environ | {kills.MARK: str(own), "RAY_memory_monitor_refresh_ms": "0"}
        done = subprocess.run(
            command,
            cwd=own,
            env=environment,
            capture_output=True,
            text=True,
            timeout=kills.PATIENCE,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def end(own: Path) -> None:
        for pid in kills.processes(own):
            os.kill(pid, 9)

    def disturb() -> bool:
        busy = [
            own
            for own in nodes[1:]
            if any(
                b"afflux.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
                for pid in kills.processes(own)
            )
        ]
        for own in busy[:1]:
            end(own)
            node(*worker, prefix=hiding(hidden))
        return bool(busy)

    try:
        said = node(
            "--head",
            "--port",
            "0",
            "--num-cpus",
            "0",
            "--include-dashboard",
            "false",
            "--node-ip-address",
            "127.0.0.1",
        )
        address = said.partition("--address='")[2].partition("'")[0]
        worker = ("--address", address, "--num-cpus", "1")
        for _ in range(2):
            node(*worker, prefix=hiding(hidden))
        yield address, disturb
    finally:
        for own in nodes:
            end(own)


# The workers of the cluster start in their own namespaces.
@pytest.mark.slow
@pytest.mark.parametrize("cluster", [dask, ray])
def test_no_path_is_shared(cluster, place, tmp_path):
    scenario = place / "small.toml"
    with cluster(tmp_path, place) as (address, disturb):
        at = {"executor": cluster.__name__, "address": address}
        watch = Disturb(place, disturb)
        try:
            found = afflux.sweep(
                scenario, VARY, seeds=[1], out=tmp_path / "sweep", watch=watch, **at
            )
            assert (found.outcome.failures, watch.disturbed) == ((), True)
            assert 0.0 < watch.largest <= 1.0
        finally:
            watch.restore()
        watch = Disturb(place, disturb)
        try:
            verdict = studies.carry_out(
                Tiny(scenario, rounds=ROUNDS), out=tmp_path / "study", watch=watch, **at
            )
            assert (verdict.outcome.failures, watch.disturbed) == ((), True)
        finally:
            watch.restore()
        same(place / "local-sweep", tmp_path / "sweep", "sweep.csv", "sweep.parquet")
        same(place / "local-study", tmp_path / "study", "study.json", "results.md")
        # Results that stay on shared storage.
        url = f"file://{tmp_path}/storage"
        stored = afflux.sweep(scenario, FEW, seeds=[1], out=tmp_path / "stored", storage=url, **at)
    assert stored.rows == tuple(row for row in found.rows if row["traffic.0.rounds"] == SHORT)
    point = tmp_path / "stored" / "points" / f"switch.buffer=90packets,traffic.0.rounds={SHORT}-1"
    assert {file.name for file in point.iterdir()} == {
        "summary.json",
        "scenario.toml",
        "stored.url",
    }
    assert {file.name for file in (tmp_path / "storage" / point.name).iterdir()} == FILES
    assert (
        afflux.Result.open(point).flows["id"]
        == afflux.Result.open(place / "local-sweep" / "points" / point.name).flows["id"]
    )


def same(local: Path, other: Path, *tables: str) -> None:
    """Checks that tables and results are byte-identical, except for the times and the memory in
    summaries."""
    for name in tables:
        assert (local / name).read_bytes() == (other / name).read_bytes(), name
    points = sorted(path for path in (local / "points").iterdir() if path.is_dir())
    assert len(points) >= 4
    for point in points:
        files = {file.name for file in point.iterdir()}
        assert files == FILES == {file.name for file in (other / "points" / point.name).iterdir()}
        for name in files - {"summary.json"}:
            assert (point / name).read_bytes() == (
                other / "points" / point.name / name
            ).read_bytes(), f"{point.name}/{name}"
    assert verify(other).problems == []


class InPlace(remote.Remote):
    """A cluster inside this process, with all steps of a real one except the cluster itself."""

    def _hold(self, digest: str, content: bytes) -> bytes:
        return content

    def _send(self, key: str, parcel: remote.Parcel, inputs: Sequence[bytes]) -> Any:
        return lambda: remote.carry_out(afflux.__version__, parcel, lambda share: None, *inputs)

    def _done(self, handles: Sequence[Any], patience: float) -> Sequence[Any]:
        return handles[:1]

    def _take(self, handle: Any) -> remote.Carried | str:
        return handle()

    def _abandon(self, handles: Sequence[Any]) -> None: ...
    def _leave(self) -> None: ...


def test_every_kind_of_input_travels(tmp_path):
    """All inputs are detected and found in the store alone. The resolved scenario keeps the file
    names of its author."""
    path = write(tmp_path)
    (tmp_path / "inputs" / "trace.tsv").write_text("job0\t9\t9\t4000000\t0\t1000000\n")
    path.write_text(
        SCENARIO.replace(
            "[record]", '[[traffic]]\nkind = "hadoop_trace"\nfile = "inputs/trace.tsv"\n\n[record]'
        )
        + '[run]\nuntil = "1ms"\n'
    )
    loaded = _core.load(path)
    inputs = toml.inputs(loaded.resolved)
    assert sorted(inputs.values()) == sorted(
        str(tmp_path / "inputs" / name) for name in (*INPUTS, "trace.tsv")
    )
    store = tmp_path / "store"
    store.mkdir()
    for digest, file in inputs.items():
        Path(file).rename(store / digest)
    with pytest.raises(afflux.ScenarioError, match="cannot be read"):
        _core.parse(loaded.resolved, path)
    again = _core.parse(loaded.resolved, path, store=store)
    assert (again.resolved, again.hash) == (loaded.resolved, loaded.hash)
    with pytest.raises(afflux.ScenarioError, match="has no SHA-256"):
        _core.parse(SCENARIO, path, store=store)
    (store / min(inputs)).write_text("something else")
    with pytest.raises(afflux.ScenarioError, match="not the one of this scenario"):
        _core.parse(loaded.resolved, path, store=store)


def test_an_input_that_changed_is_not_sent(tmp_path):
    path = write(tmp_path)
    resolved = _core.load(path).resolved
    inputs = toml.inputs(resolved)
    (tmp_path / "inputs" / "sizes.txt").write_text("1 0\n2 1\n")
    with InPlace(1, None) as executor:
        executor.submit("a", Order(resolved, str(path), str(tmp_path / "out"), inputs))
        ((key, answer),) = executor.ended(1.0)
    assert (key, answer.error) == (
        "a",
        f"{tmp_path}/inputs/sizes.txt has changed since the scenario was read",
    )
    assert not (tmp_path / "out").exists()


def test_results_on_shared_storage(tmp_path):
    """Only summaries are transferred, and tables are read from the storage. Missing results are
    simulated again, and damage is reported."""
    pytest.importorskip("fsspec")
    (tmp_path / "small.toml").write_text(
        INCAST.replace("rounds = 3", "rounds = 2").replace("paths = true", "")
    )
    folder = tmp_path / "shared"

    def sweep() -> afflux.Sweep:
        with InPlace(1, remote.Folder(f"file://{folder}/")) as executor:
            return afflux.sweep(
                tmp_path / "small.toml",
                {"switch.buffer": ["9packets", "90packets"]},
                out=tmp_path / "out",
                executor=executor,
            )

    local = afflux.sweep(
        tmp_path / "small.toml",
        {"switch.buffer": ["9packets", "90packets"]},
        out=tmp_path / "local",
    )
    assert (sweep().rows, sweep().outcome.reused) == (local.rows, 2)
    point = tmp_path / "out" / "points" / "switch.buffer=9packets-1"
    assert {file.name for file in point.iterdir()} == {
        "summary.json",
        "scenario.toml",
        "stored.url",
    }
    result = afflux.Result.open(point)
    assert (
        result.flows["fct_ns"]
        == afflux.Result.open(tmp_path / "local" / "points" / point.name).flows["fct_ns"]
    )
    assert result.explain() is not None
    good = verify(tmp_path / "out")
    assert (good.problems, good.notes, good.files) == ([], [], 2 * len(FILES))
    (folder / point.name / "flows.parquet").write_bytes(b"PAR1")
    with pytest.raises(
        afflux.DamagedResult, match=r"file:///.*flows.parquet is not as it was written"
    ):
        _ = afflux.Result.open(point).flows
    assert len(verify(tmp_path / "out").problems) == 1
    (folder / point.name / "flows.parquet").unlink()
    again = sweep()
    assert (again.outcome.reused, again.rows) == (1, local.rows)
    assert "flows.parquet is missing" in again.outcome.notes[0]
    assert verify(tmp_path / "out").problems == []


def test_storage_that_cannot_be_used(invoke, tmp_path, monkeypatch):
    (tmp_path / "small.toml").write_text(INCAST)
    for options, words in [
        (["--storage", "s3://bucket/a"], "write --executor dask"),
        (["--executor", "dask", "--storage", "bucket"], "is no URL"),
        (["--executor", "dask", "--storage", "zip://a::s3://b"], "is no URL"),
        (["--executor", "dask", "--storage", "nonsense://bucket"], "nonsense"),
    ]:
        done = invoke("sweep", "small.toml", *options)
        assert (done.exit_code in (1, 2), words in done.stderr) == (True, True), done.output
    monkeypatch.setitem(sys.modules, "fsspec", None)
    done = invoke("study", "hadoop", "--executor", "dask", "--storage", "s3://bucket/a")
    assert "needs the Python package 'fsspec'" in done.stderr
    assert "-m pip install" in done.stderr
    assert not (tmp_path / "out").exists()


def test_another_version_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    from afflux.executors import on_dask

    (tmp_path / "small.toml").write_text(INCAST)
    monkeypatch.setattr(on_dask, "__version__", "0.0.1")
    with pytest.raises(
        afflux.RunError,
        match=rf"a worker on \S+ has afflux {afflux.__version__}, here is 0.0.1: install the same version on all machines",
    ):
        afflux.sweep(tmp_path / "small.toml", VARY, out=tmp_path / "out", executor="dask", jobs=1)


def test_another_version_is_refused_before_points_are_sent(invoke, tmp_path):
    """A worker that cannot read its message would die, and so would each worker after it."""
    pytest.importorskip("distributed")
    older = tmp_path / "older" / "afflux-0.0.1.dist-info"
    older.mkdir(parents=True)
    (older / "METADATA").write_text("Metadata-Version: 2.1\nName: afflux\nVersion: 0.0.1\n")
    path = os.pathsep.join([str(older.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    with kills.cluster(tmp_path, 1, ["env", f"PYTHONPATH={path}"]) as (address, _, _):
        until = time.monotonic() + kills.PATIENCE
        while "Registered to" not in (tmp_path / "dask.log").read_text():
            assert time.monotonic() < until, "no worker comes"
            time.sleep(0.05)
        done = invoke("study", "longfat", "--quick", "--executor", "dask", "--address", address)
    assert done.exit_code == 1
    assert (
        f"has afflux 0.0.1, here is {afflux.__version__}: install the same version on all machines"
        in done.stderr
    )


def test_study_takes_a_cluster(invoke, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    from afflux.executors import on_dask

    # Dask retries until its time limit.
    monkeypatch.setattr(on_dask, "PATIENCE", 1)
    done = invoke(
        "study", "hadoop", "--quick", "--executor", "dask", "--address", "tcp://127.0.0.1:9"
    )
    assert done.exit_code in (1, 2)
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in done.stderr


HOW_TO = REPO / "docs" / "how-to"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (HOW_TO / page).read_text(), re.S)


def test_the_program_for_slurm(tmp_path):
    """Replaces SLURM's cluster by the local cluster of dask-jobqueue, whose jobs are processes of
    this machine."""
    pytest.importorskip("dask_jobqueue")
    (program,) = blocks("slurm.md", "python")
    program = program.replace(
        "import SLURMCluster",
        "import SLURMCluster as Real; from dask_jobqueue.local import LocalCluster as Here",
    )
    of_slurm = re.search(r"SLURMCluster(\(queue=.*?\)) as", program)
    assert of_slurm
    here = "Here(cores=2, processes=1, memory='1GB')"
    program = program.replace(f"SLURMCluster{of_slurm[1]}", here).replace(
        "range(1, 51)", "range(1, 4)"
    )
    program += f"print(Real{of_slurm[1][:-1]}, interface='lo').job_script())\n"
    (tmp_path / "program.py").write_text(program)
    (tmp_path / "star.toml").write_text(INCAST.replace("paths = true", ""))
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=kills.PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert "#SBATCH -p batch" in done.stdout
    assert "#SBATCH --cpus-per-task=32" in done.stdout
    assert len((tmp_path / "out" / "sweep-small" / "sweep.csv").read_text().splitlines()) == 7


def test_the_manifest_for_kubernetes(tmp_path):
    """The commands of the manifest start a cluster, and its names match each other."""
    pytest.importorskip("distributed")
    (text,) = blocks("kubernetes.md", "yaml")
    scheduler, service, worker = yaml.safe_load_all(text)
    for deployment in (scheduler, worker):
        assert (
            deployment["spec"]["selector"]["matchLabels"]
            == deployment["spec"]["template"]["metadata"]["labels"]
        )
    assert service["spec"]["selector"] == scheduler["spec"]["template"]["metadata"]["labels"]
    commands = [
        deployment["spec"]["template"]["spec"]["containers"][0]["command"]
        for deployment in (scheduler, worker)
    ]
    name, port = service["metadata"]["name"], service["spec"]["ports"][0]["port"]
    assert commands[0][-1] == str(port)
    assert f"tcp://{name}:{port}" in commands[1]
    for _, command, *options in commands:
        here = [sys.executable, "-m", f"distributed.cli.dask_{command}", *options, "--help"]
        subprocess.run(here, capture_output=True, check=True, timeout=kills.PATIENCE)


def test_points_on_one_machine_leave_each_other_alone(monkeypatch, tmp_path):
    """A point removes leftovers of killed points, but not the directory of a point that is about to
    lock it."""
    monkeypatch.setattr(remote.tempfile, "tempdir", str(tmp_path))
    killed = tmp_path / "afflux-point-killed"
    killed.mkdir()
    (killed / "lock").touch()
    flock, others = remote.fcntl.flock, [remote.scratch()]

    def late(lock: Any, how: int) -> None:
        if lock.mode == "w" and others:
            with others.pop():
                assert not killed.exists()
        flock(lock, how)

    monkeypatch.setattr(remote.fcntl, "flock", late)
    with remote.scratch() as place:
        assert (others, (place / "lock").exists()) == ([], True)
    assert list(tmp_path.iterdir()) == []
