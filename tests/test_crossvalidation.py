"""The cross-validation of the Hadoop study, on made-up numbers with known constants."""

from collections.abc import Callable

import pytest

from afflux.studies import files
from afflux.studies.hadoop import crossvalidation, fits, runs, sensitivity, whole
from afflux.studies.hadoop.cases import (
    BASE,
    BUSY,
    DESIGNS,
    FITTED,
    FRAMEWORKS,
    SIZES,
    Case,
    Constants,
    keys,
    published,
)
from afflux.studies.hadoop.crossvalidation import SPLITS, Simulated, fit, judge, signs
from afflux.studies.hadoop.runs import CPU, DISK, Run, read, write

TRUE = Constants(start=20.0, cpu=12.0, disk=400.0, share=0.85)
SEEDS = (1, 2, 3, 4, 5)


def without_traffic(framework: str, size: int, cpu: float, disk: float) -> float:
    """Returns the job time of one wave of 220 maps per 30 GB. Tez starts containers only once."""
    waves = 1 if framework == "tez" else 1 + size / 30
    return 5 + 3 * (1 + waves) + 0.05 * cpu * size + 40 * size / disk


def startups(framework: str) -> float:
    return 6.0 if framework == "tez" else 12.0


def network(case: Case) -> float:
    if not case.traffic:
        return 0.0
    return 3.0 * (6 - list(DESIGNS).index(case.design)) * (1 + case.size / 100)


def made(noise: Callable[[int], float] = lambda seed: 0.0) -> Simulated:
    runs, jobs = {}, {}
    for framework in FRAMEWORKS:
        for size in SIZES:
            for cpu in CPU:
                for disk in DISK:
                    # The larger job has one seed, except at the base point.
                    for seed in (
                        SEEDS if size == 10 or (cpu, disk) == (BASE.cpu, BASE.disk) else SEEDS[:1]
                    ):
                        of = BASE._replace(cpu=cpu, disk=disk)
                        runs[Run(Case("deep", framework, size, False), of, seed)] = without_traffic(
                            framework, size, cpu, disk
                        ) + noise(seed)
            for seed in SEEDS:
                busy = FITTED.under_traffic
                for design, of, longer in (
                    ("deep", busy, 0.0),
                    (BUSY, FITTED._replace(share=1.0), (1 / FITTED.share - 1)),
                ):
                    runs[Run(Case(design, framework, size, False), of, seed)] = (
                        busy.start
                        + without_traffic(framework, size, busy.cpu, busy.disk)
                        + longer * startups(framework)
                        + noise(seed)
                    )
            for design in DESIGNS:
                for traffic in (False, True):
                    case = Case(design, framework, size, traffic)
                    of = FITTED.under_traffic if traffic else FITTED
                    for seed in SEEDS:
                        jobs[whole.Job(case, seed)] = (
                            of.start
                            + without_traffic(framework, size, of.cpu, of.disk)
                            + (1 / FITTED.share - 1) * startups(framework) * traffic
                            + network(case)
                            + noise(seed)
                        )
    return Simulated.of(runs, jobs)


def measured(simulated: Simulated, constants: Constants = TRUE) -> dict[Case, float]:
    return {case: simulated.time(case, constants) for case in published()}


def test_the_time_of_a_job_is_made_of_its_parts():
    simulated = made()
    case = Case("deep", "mapreduce", 200, True)
    by_hand = (
        TRUE.start / TRUE.share
        + without_traffic("mapreduce", 200, TRUE.cpu / TRUE.share, TRUE.disk)
        + (1 / TRUE.share - 1) * startups("mapreduce")
        + network(case)
    )
    assert simulated.time(case, TRUE) == pytest.approx(by_hand)
    # If a point of the grid has only one seed, the base point shows how that seed deviates from the
    # mean over all seeds.
    noisy = made(lambda seed: 0.1 * seed)
    assert noisy.without_traffic("mapreduce", 200, 20.0, 1500.0) == pytest.approx(
        without_traffic("mapreduce", 200, 20.0, 1500.0) + 0.3
    )
    assert noisy.network(case) == pytest.approx(network(case))


@pytest.mark.parametrize("split", SPLITS, ids=lambda split: split.name)
def test_a_fit_finds_the_constants_that_made_the_numbers(split):
    simulated = made()
    found = judge(split, simulated, measured(simulated), resamples=3)
    # One size alone cannot separate the start from the work. The work then stays near its default,
    # and the start compensates.
    assert found.error < {"10 GB, judged on 200 GB": 0.1, "200 GB, judged on 10 GB": 0.2}.get(
        split.name, 0.01
    )
    assert found.low <= found.high
    assert found.better


def test_all_numbers_determine_the_start_and_the_share():
    # In this model, processor and disk times are both proportional to the size, so only their sum
    # is determined.
    simulated = made()
    found = fit(simulated, measured(simulated))
    assert (found.start, found.share) == (
        pytest.approx(TRUE.start, rel=0.02),
        pytest.approx(TRUE.share, rel=0.02),
    )
    assert 0.05 * found.cpu + 40 / found.disk == pytest.approx(
        0.05 * TRUE.cpu + 40 / TRUE.disk, rel=0.02
    )


def test_what_is_judged_is_not_seen():
    simulated = made()
    numbers = measured(simulated)
    for split in SPLITS:
        for fitted, judged in split.parts(numbers):
            assert not set(fitted) & set(judged)
            # Two measurements of the same design count as one design.
            if "but one" in split.name:
                assert not {case.simulated for case in fitted} & {case.simulated for case in judged}
            # Neither the fit nor the null model depends on the judged numbers.
            changed = numbers | {case: 2 * seconds for case, seconds in judged.items()}
            again = next(pair for pair in split.parts(changed) if set(pair[1]) == set(judged))
            assert fit(simulated, again[0]) == fit(simulated, fitted)
            assert [[null(case, again[0]) for case in judged] for null in split.nulls] == [
                [null(case, fitted) for case in judged] for null in split.nulls
            ]


def test_where_the_network_makes_no_difference_the_null_model_is_better():
    simulated = made()
    numbers = {case: simulated.time(case._replace(design="shallow"), TRUE) for case in published()}
    found = judge(SPLITS[-1], simulated, numbers, resamples=3)
    assert found.null == pytest.approx(0)
    assert not found.better


def test_signs_are_those_of_deep_against_shallow_above_8_percent():
    case = Case("deep", "tez", 10, True)
    predicted = {
        case: (60.0, 50.0),
        case._replace(design="ecn"): (50.0, 49.0),
        case._replace(design="pfc"): (58.0, 70.0),
    }
    assert signs(predicted) == ([(case, case._replace(design="ecn"))], [])
    predicted[case._replace(design="dctcp")] = (50.0, 51.0)
    assert signs(predicted)[1] == [(case, case._replace(design="dctcp"))]


def test_the_readme_has_the_numbers():
    readme = (files("hadoop") / "README.md").read_text(encoding="utf-8")
    judged = crossvalidation.all_judged(resamples=0)
    for one in judged:
        (row,) = [line for line in readme.splitlines() if line.startswith(f"| {one.split} |")]
        cells = row.split(" | ")
        assert cells[1] == str(len(one.predicted))
        assert cells[2].startswith(f"{100 * one.error:.1f} (")
        assert cells[3].startswith(f"{100 * one.null:.1f} (")
        assert cells[4] == ("yes" if one.better else "no")
    predicted = judged[-1].predicted
    assert fits.case_tables(predicted) in readme
    simulated = Simulated.read()
    assert fits.by_constants(simulated, sensitivity.read()) in readme
    now, words = fit(simulated, published()), " ".join(readme.split())
    assert (
        f"a start of {now.start:.1f} s, {now.cpu:.1f} ms/MB, disks of {now.disk:.0f} MB/s and a share of {now.share:.2f}"
        in words
    )
    assert (
        f"{FITTED.start:.1f} s, {FITTED.cpu:.1f} ms/MB, {FITTED.disk:.0f} MB/s, {FITTED.share:.2f}"
        in words
    )
    of = {job: f"{seconds:.0f} s" for job, seconds in simulated._startups.items()}
    assert of["mapreduce", 10] == of["tez", 10]
    large = f"200 GB {of['mapreduce', 200]} with MapReduce and {of['tez', 200]} with Tez"
    assert (
        f"10 GB without traffic take {of['tez', 10]} more per unit of 1 / share - 1, and {large}"
        in words
    )
    right, wrong = signs(predicted)
    assert (
        f"{len(right)} of {len(right) + len(wrong)} differences between deep and shallow"
        in " ".join(readme.split())
    )


def test_the_network_at_other_constants_is_shown():
    simulated = made()
    of = "shallow"
    longer = network(Case(of, "mapreduce", 10, True))
    busy = {
        sensitivity.Run(sensitivity.DEFAULT, of, seed): sensitivity.Measured(
            without_traffic("mapreduce", 10, BASE.cpu, BASE.disk) + longer + 0.4
        )
        for seed in SEEDS
    }
    assert fits.by_constants(simulated, busy).splitlines()[2:] == [
        f"| `{of}` | {longer + 0.4:.1f} | {longer:.1f} |"
    ]


def test_a_job_that_does_not_end_counts_as_the_limit(monkeypatch):
    monkeypatch.setattr(runs, "LIMIT", 0.5)
    monkeypatch.setattr(runs, "UPLOAD", 0.0)
    assert runs.simulate(Run(Case("deep", "tez", 10, False), BASE, 1)) == 0.5


def test_cases_that_are_not_simulated_are_left_out():
    some = made()
    few = Simulated(
        some.runs,
        {
            job: seconds
            for job, seconds in some.jobs.items()
            if job.case.size == 10 or not job.case.traffic
        },
        SEEDS,
    )
    known = few.known(published())
    assert len(known) == len(published()) - 14
    assert (
        judge(SPLITS[0], few, measured(some), resamples=0).low
        == judge(SPLITS[0], few, measured(some), resamples=0).error
    )


def test_an_unfinished_grid_is_used_as_far_as_it_goes():
    """A part that was interrupted leaves the first lines."""
    some = made()
    runs = list(some.runs.items())
    for count in range(0, len(runs), 7):
        known = Simulated(dict(runs[:count]), some.jobs, SEEDS).known(published())
        for case in known:
            assert Simulated(dict(runs[:count]), some.jobs, SEEDS).time(case, TRUE) > 0
    assert not Simulated({}, some.jobs, SEEDS).known(published())


def test_runs_are_written_line_by_line_and_read_again(tmp_path):
    file = tmp_path / "results" / "runs.csv"
    made_up = {
        Run(Case("pfc", "tez", 10, True), FITTED.under_traffic, seed): 40.5 + seed
        for seed in (1, 2)
    }
    for run, seconds in made_up.items():
        write(run, seconds, file)
    assert read(file) == made_up


def test_jobs_beside_the_runs_are_those_that_count(tmp_path):
    file = tmp_path / "runs.csv"
    case = Case("deep", "tez", 10, False)
    write(Run(case, BASE, 1), 26.0, file)
    assert Simulated.read(file).jobs == whole.read()
    own = {whole.Job(case, 1): 43.5}
    whole.write(own, tmp_path / whole.NAME)
    assert Simulated.read(file).jobs == own


def test_constants_are_keys_of_the_scenario():
    found = keys(Case("ecn_again", "tez", 10, True), TRUE)
    cluster = {
        key.removeprefix("traffic[0].cluster."): value
        for key, value in found.items()
        if key.startswith("traffic[0].cluster.")
    }
    assert (cluster["master_init"], cluster["map_cpu_per_mb"], cluster["cpu_share"]) == (
        "20000000us",
        "12000us",
        0.85,
    )
    assert cluster["disks"] == {"read": "3200Mbps"}
    assert "traffic[0].cluster.cpu_share" not in keys(Case("deep", "tez", 10, False), TRUE)
    assert crossvalidation.DIFFERENCE == 0.08
