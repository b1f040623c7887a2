"""Handmade comparisons, and the correct sentence for each.

`BASE` and a ratio give a design: `by(0.66, 0.1)` is 34 % less, spread over the five seeds so that
the paired logarithms have a standard error of 0.0354 (0.3536 times the spread). With t(4) = 2.776
the interval of a ratio is the ratio times exp(±0.98 · spread): here 27 to 40 % less.
"""

from made import design, spread

BASE = [10.0, 12.0, 11.0, 13.0, 14.0]


NOISY = [15.0, 2000.0, 60.0, 2100.5, 75.0]


def by(ratio: float, spread_by: float, base: list[float] = BASE) -> list[float]:
    return [old * new for old, new in zip(base, spread(ratio, spread_by, len(base)), strict=True)]


CASES = {
    "clear": (
        [design("deep", fct=BASE), design("shallow", fct=by(0.66, 0.1))],
        "**shallow has the lower mean completion time:** 7.94 ms instead of 12.0 ms with deep, 34 % less (95 % interval 27 to 40 %, 5 paired seeds).",
        "**shallow の方が完了時間の平均が小さくなります。**7.94 ms（deep は 12.0 ms）、34% 減（95% 信頼区間 27～40%、対応するシード 5 個）。",
    ),
    "clearly worse, and why": (
        [
            design("deep", fct=BASE),
            design(
                "shallow",
                fct=by(1.5, 0.1),
                drops=[100, 120, 90, 110, 130],
                timeouts=[3, 4, 5, 3, 4],
            ),
        ],
        "**shallow has the higher mean completion time:** 18.1 ms instead of 12.0 ms with deep, 50 % more (95 % interval 36 to 65 %, 5 paired seeds). "
        "Likely causes: more queue drops (110 instead of 0) and more time-outs (3.80 instead of 0).",
        "**shallow の方が完了時間の平均が大きくなります。**18.1 ms（deep は 12.0 ms）、50% 増（95% 信頼区間 36～65%、対応するシード 5 個）。"
        "考えられる原因: キュー廃棄の増加（0 → 110）、タイムアウトの増加（0 → 3.80）。",
    ),
    "clear by a factor": (
        [design("deep", slow99=BASE), design("shallow", slow99=by(8.5, 0.3))],
        "**shallow has the higher p99 slowdown:** 104 instead of 12.0 with deep, 8.5 times as much (95 % interval 6.3 to 11 times, 5 paired seeds).",
        "**shallow の方がスローダウンの p99が大きくなります。**104（deep は 12.0）、8.5 倍（95% 信頼区間 6.3～11 倍、対応するシード 5 個）。",
    ),
    "less by a large factor": (
        [design("deep", slow99=1000.0), design("shallow", slow99=spread(1000 / 850, 0.2))],
        "**shallow has the lower p99 slowdown:** 1.19 instead of 1,000 with deep, less by a factor of 850 "
        "(95 % interval a factor of 698 to 1,034, 5 paired seeds).",
        None,
    ),
    # An earlier version answered "nothing speaks against an equal slowdown p99: 100.0 with deep,
    # 850.1 with shallow" above rows that were all better.
    "one measure differs by a factor and is not clear, all else is": (
        [
            design(
                "deep",
                slow99=100.0,
                fct=BASE,
                p99=BASE,
                drops=[900, 1000, 1100, 950, 1050],
                timeouts=[50, 60, 55, 45, 52],
            ),
            design(
                "shallow",
                slow99=NOISY,
                fct=by(0.4, 0.1),
                p99=by(0.5, 0.1),
                drops=[90, 100, 110, 80, 70],
                timeouts=[5, 6, 5, 4, 5],
            ),
        ],
        "**shallow has the lower mean completion time:** 4.81 ms instead of 12.0 ms with deep, 60 % less (95 % interval 56 to 64 %, 5 paired seeds). "
        "Also better: p99 completion time (50 % less). Likely causes: fewer queue drops (90 instead of 1,000) and fewer time-outs (5 instead of 52.4). "
        "Cannot tell: p99 slowdown (850 instead of 100, between 88 % less and 31 times as much "
        "in the geometric mean of pairs; about 41 more seeds would decide).",
        "**shallow の方が完了時間の平均が小さくなります。**4.81 ms（deep は 12.0 ms）、60% 減（95% 信頼区間 56～64%、対応するシード 5 個）。"
        "ほかに改善: 完了時間の p99（50% 減）。考えられる原因: キュー廃棄の減少（1,000 → 90）、タイムアウトの減少（52.4 → 5）。"
        "判断できない: スローダウンの p99（100 → 850、対応する組の幾何平均で 88% 減～31 倍、あと約 41 個のシードで判断可能）。",
    ),
    # An earlier version answered "job time is 0.4 % higher" although the mean completion time was
    # 91 % lower.
    "a trifle worse in one measure, far better in another": (
        [
            design("deep", job=[100.0, 101.0, 99.0, 100.0, 102.0], fct=BASE),
            design("shallow", job=[100.4, 101.41, 99.39, 100.41, 102.4], fct=by(0.09, 0.2)),
        ],
        "**shallow has the lower mean completion time:** 1.09 ms instead of 12.0 ms with deep, 91 % less (95 % interval 89 to 93 %, 5 paired seeds). "
        "But its job time is worse: 100.8 ms instead of 100.4 ms, 0.40 % more (95 % interval 0.39 to 0.41 %, 5 paired seeds).",
        "**shallow の方が完了時間の平均が小さくなります。**1.09 ms（deep は 12.0 ms）、91% 減（95% 信頼区間 89～93%、対応するシード 5 個）。"
        "ただし、ジョブ所要時間は悪化します。100.8 ms（deep は 100.4 ms）、0.40% 増（95% 信頼区間 0.39～0.41%、対応するシード 5 個）。",
    ),
    "mean better, tail worse": (
        [design("a", fct=BASE, p99=BASE), design("b", fct=by(0.7, 0.05), p99=by(1.8, 0.1))],
        "**b has the higher p99 completion time:** 21.7 ms instead of 12.0 ms with a, 80 % more (95 % interval 63 to 99 %, 5 paired seeds). "
        "But its mean completion time is better: 8.41 ms instead of 12.0 ms, 30 % less (95 % interval 26 to 33 %, 5 paired seeds).",
        None,
    ),
    # An earlier version recommended classic ECN to an engineer: the median was better, but the jobs
    # took 355 times as long.
    "a gain that costs far more elsewhere is not chosen": (
        [
            design("shallow", job=BASE, p50=BASE, p99=BASE),
            design("dctcp", job=by(0.5, 0.05), p50=by(0.55, 0.05), p99=by(0.9, 0.02)),
            design("ecn", job=by(350, 0.1), p50=by(0.37, 0.02), p99=by(450, 0.1)),
        ],
        "**dctcp has the lowest job time:** 6.01 ms instead of 12.0 ms, 50 % less (95 % interval 47 to 52 %, 5 paired seeds). "
        "Also better with dctcp: median completion time (45 % less); p99 completion time (10 % less). Higher than with shallow: ecn (350 times as much).",
        None,
    ),
    "nor where nothing else is better by much": (
        [
            design("shallow", job=BASE, p50=BASE),
            design("ecn", job=by(350, 0.1), p50=by(0.37, 0.02)),
            design("deep", job=by(0.993, 0.0001), p50=by(0.994, 0.0001)),
        ],
        "**deep has the lowest job time:** 11.92 ms instead of 12.00 ms, 0.70 % less (95 % interval 0.69 to 0.71 %, 5 paired seeds). "
        "Also better with deep: median completion time (0.60 % less). Higher than with shallow: ecn (350 times as much).",
        None,
    ),
    "a trifle against a choice does not interrupt it": (
        [
            design("a", fct=BASE, goodput=10.0),
            design("b", fct=by(0.5, 0.05), goodput=spread(9.999, 0.00001)),
        ],
        "**b has the lower mean completion time:** 6.01 ms instead of 12.0 ms with a, 50 % less (95 % interval 47 to 52 %, 5 paired seeds). "
        "Also worse: goodput while busy (0.0100 % less).",
        None,
    ),
    # A switch with a longer ideal completion time had 18 % less slowdown, but the same completion
    # times as the other switch.
    "slowdown where flows alone take longer": (
        [
            design("shallow", slow=30.0, slow99=BASE, alone=1.0),
            design("deep", slow=25.0, slow99=by(0.8, 0.02), alone=1.2),
        ],
        "**No main measure differs between deep and shallow.** They are equal with each seed (5 paired seeds).",
        None,
    ),
    "unclear": (
        [design("a", fct=BASE), design("b", fct=by(0.8, 0.3))],
        "**Cannot tell whether b is better than a.** The mean completion time is 9.82 ms with b and 12.0 ms with a, between 40 % less and 7.4 % more "
        "(95 % interval, 5 paired seeds). About 2 more seeds would decide.",
        "**b が a より優れているかは判断できません。**完了時間の平均は b で 9.82 ms、a で 12.0 ms、差は 40% 減～7.4% 増"
        "（95% 信頼区間、対応するシード 5 個）です。あと約 2 個のシードで判断できる見込みです。",
    ),
    "nearly equal": (
        [design("a", fct=BASE), design("b", fct=by(1.002, 0.1))],
        "**Cannot tell whether b is better than a.** The mean completion time is 12.06 ms with b and 12.00 ms with a, between 9.2 % less and 11 % more "
        "(95 % interval, 5 paired seeds).",
        None,
    ),
    "unclear in two measures": (
        [
            design("a", fct=[10.0, 11.0, 12.0], p99=[100.0, 200.0, 150.0]),
            design("b", fct=[9.8, 11.6, 11.1], p99=[50.0, 260.0, 90.0]),
        ],
        "**Cannot tell whether b is better than a.** The mean completion time is 10.83 ms with b and 11.00 ms with a, between 16 % less and 16 % more "
        "(95 % interval, 3 paired seeds). About 97 more seeds would decide. "
        "Cannot tell either: p99 completion time (133 ms instead of 150 ms, between 79 % less and 158 % more "
        "in the geometric mean of pairs; about 14 more seeds would decide).",
        None,
    ),
    "deterministic": (
        [design("a", fct=10.0, hash="x"), design("b", fct=9.0, hash="y")],
        "**b has the lower mean completion time:** 9.00 ms instead of 10.0 ms with a, 10 % less (deterministic: one run says all).",
        "**b の方が完了時間の平均が小さくなります。**9.00 ms（a は 10.0 ms）、10% 減（決定的であり、1 回の実行で確定）。",
    ),
    # An earlier version answered "95 % interval +0.4 to +0.4 %, worse" for five seeds with the same
    # result.
    "deterministic, a small difference": (
        [design("a", job=100.0, hash="x"), design("b", job=100.4, hash="y")],
        "**b has the higher job time:** 100.4 ms instead of 100.0 ms with a, 0.40 % more (deterministic: one run says all).",
        None,
    ),
    "deterministic, and no seed in common": (
        [
            design("a", fct=10.0, hash="x", seeds=range(1, 6)),
            design("b", fct=9.0, hash="y", seeds=range(6, 11)),
        ],
        "**b has the lower mean completion time:** 9.00 ms instead of 10.0 ms with a, 10 % less (deterministic: one run says all).",
        None,
    ),
    "the same results": (
        [design("a", hash="x"), design("b", hash="x")],
        "**No main measure differs between b and a.** The results are the same, flow by flow (deterministic: one run says all).",
        None,
    ),
    "one side deterministic": (
        [design("a", fct=10.0, hash="x"), design("b", fct=[8.0, 8.5, 9.0, 8.2, 8.1])],
        "**b has the lower mean completion time:** 8.36 ms instead of 10.0 ms with a, 16 % less (95 % interval 11 to 21 %, 5 paired seeds).",
        None,
    ),
    "results that repeat": (
        [
            design("a", fct=10.0, hash=["x", "x", "y", "z", "z"]),
            design("b", fct=[8.0, 8.0, 9.0, 8.2, 8.2], hash=["p", "p", "q", "r", "r"]),
        ],
        "**b has the lower mean completion time:** 8.28 ms instead of 10.0 ms with a, 17 % less (95 % interval 12 to 22 %, 5 paired seeds).",
        None,
    ),
    "one seed": (
        [design("a", fct=[10.0], job=[100.0]), design("b", fct=[5.0], job=[101.0])],
        "**One seed cannot tell a difference from chance.** b beside a: job time 101 ms instead of 100 ms; mean completion time 5.00 ms instead of 10.0 ms. "
        "Run at least 3 seeds, better 5 or more.",
        "**シード 1 個では差と偶然を区別できません。**b と a: ジョブ所要時間 100 ms → 101 ms；完了時間の平均 10.0 ms → 5.00 ms。"
        "3 個以上、できれば 5 個以上のシードで実行してください。",
    ),
    "two seeds": (
        [design("a", fct=[10.0, 11.0]), design("b", fct=[5.0, 6.0])],
        "**2 seeds are too few to tell a difference from chance.** b beside a: mean completion time 5.50 ms instead of 10.5 ms. "
        "Run at least 3 seeds, better 5 or more.",
        None,
    ),
    "three seeds": (
        [design("a", fct=[10.0, 11.0, 12.0]), design("b", fct=[5.0, 5.6, 6.1])],
        "**b has the lower mean completion time:** 5.57 ms instead of 11.0 ms with a, 49 % less (95 % interval 48 to 51 %, 3 paired seeds).",
        None,
    ),
    "flows unfinished on one side": (
        [design("a", unfinished=[30, 35, 40, 33, 37], fct=BASE), design("b", fct=BASE)],
        "**b leaves fewer flows unfinished:** 0 instead of 35 with a, 35 fewer (95 % interval 30.3 to 39.7, 5 paired seeds).",
        "**b の方が未完了のフローが少なくなります。**0（a は 35）、35 減（95% 信頼区間 30.3～39.7、対応するシード 5 個）。",
    ),
    "flows unfinished on both sides": (
        [
            design("a", unfinished=[30, 35, 40, 33, 37], fct=BASE),
            design("b", unfinished=[34, 36, 38, 30, 35], fct=by(0.7, 0.1)),
        ],
        "Flows not finished: 34.6 of 1,000 with b, 35 of 1,000 with a; no clear difference. "
        "**b has the lower mean completion time of finished flows:** 8.43 ms instead of 12.0 ms with a, 30 % less "
        "(95 % interval 23 to 37 %, 5 paired seeds).",
        "未完了のフロー: b で 1,000 本中 34.6 本、a で 1,000 本中 35 本（差は不明確）。"
        "**b の方が完了フローの完了時間の平均が小さくなります。**8.43 ms（a は 12.0 ms）、30% 減（95% 信頼区間 23～37%、対応するシード 5 個）。",
    ),
    "faster for the flows that finished, and more did not": (
        [design("a", fct=BASE), design("b", unfinished=[34, 36, 38, 30, 35], fct=by(0.7, 0.1))],
        "**b leaves more flows unfinished:** 34.6 instead of 0 with a, 34.6 more (95 % interval 30.9 to 38.3, 5 paired seeds). "
        "But its mean completion time of finished flows is better: 8.43 ms instead of 12.0 ms, 30 % less (95 % interval 23 to 37 %, 5 paired seeds). "
        "Completion times and slowdowns are those of finished flows.",
        None,
    ),
    "flows that never started did not finish": (
        [
            design(
                "a",
                fct=BASE,
                unfinished=[6, 7, 5, 6, 7],
                started=[96, 96, 96, 80, 80],
                not_started=[64, 64, 64, 80, 80],
            ),
            design(
                "b",
                fct=by(0.7, 0.1),
                unfinished=[3, 2, 3, 2, 3],
                started=16,
                not_started=144,
            ),
        ],
        "**b leaves more flows unfinished:** 147 instead of 76.6 with a, 70 more (95 % interval 58.6 to 81.4, 5 paired seeds). "
        "But its mean completion time of finished flows is better: 8.43 ms instead of 12.0 ms, 30 % less (95 % interval 23 to 37 %, 5 paired seeds). "
        "Flows not finished: 147 of 160 with b (144 never started), 76.6 of 160 with a (70.4 never started). "
        "Completion times and slowdowns are those of finished flows.",
        "**b の方が未完了のフローが多くなります。**147（a は 76.6）、70 増（95% 信頼区間 58.6～81.4、対応するシード 5 個）。"
        "一方、完了フローの完了時間の平均は改善します。8.43 ms（a は 12.0 ms）、30% 減（95% 信頼区間 23～37%、対応するシード 5 個）。"
        "未完了のフロー: b で 160 本中 147 本（うち 144 本は開始せず）、a で 160 本中 76.6 本（うち 70.4 本は開始せず）。"
        "完了時間とスローダウンは完了したフローだけの値です。",
    ),
    "as many flows never started with every seed": (
        [
            design("a", unfinished=6, not_started=50, fct=BASE),
            design("b", unfinished=6, not_started=50, fct=by(0.7, 0.1)),
        ],
        "Flows not finished: 56 of 1,050 with every design (50 never started). "
        "**b has the lower mean completion time of finished flows:** 8.43 ms instead of 12.0 ms with a, 30 % less (95 % interval 23 to 37 %, 5 paired seeds).",
        "未完了のフロー: どの構成でも 1,050 本中 56 本（うち 50 本は開始せず）。"
        "**b の方が完了フローの完了時間の平均が小さくなります。**8.43 ms（a は 12.0 ms）、30% 減（95% 信頼区間 23～37%、対応するシード 5 個）。",
    ),
    "jobs that never started did not finish": (
        [
            design("a", job=BASE, jobs_unfinished=1, jobs_not_started=[4, 4, 4, 5, 5]),
            design("b", job=BASE, jobs_unfinished=1, jobs_not_started=[8, 9, 9, 9, 9]),
        ],
        "**b leaves more jobs unfinished:** 9.80 instead of 5.40 with a, 4.40 more (95 % interval 3.72 to 5.08, 5 paired seeds).",
        "**b の方が未完了のジョブが多くなります。**9.80（a は 5.40）、4.40 増（95% 信頼区間 3.72～5.08、対応するシード 5 個）。",
    ),
    "as many flows unfinished with every seed": (
        [design("a", unfinished=96, fct=BASE), design("b", unfinished=96, fct=by(0.7, 0.1))],
        "Flows not finished: 96 of 1,000 with every design. **b has the lower mean completion time of finished flows:** 8.43 ms instead of 12.0 ms with a, "
        "30 % less (95 % interval 23 to 37 %, 5 paired seeds).",
        None,
    ),
    "all jobs finished, some flows did not": (
        [design("a", unfinished=96, job=BASE), design("b", unfinished=96, job=by(0.7, 0.1))],
        "**b has the lower job time:** 8.43 ms instead of 12.0 ms with a, 30 % less (95 % interval 23 to 37 %, 5 paired seeds). "
        "Flows not finished: 96 of 1,000 with every design.",
        None,
    ),
    "jobs unfinished": (
        [design("a", job=BASE, jobs_unfinished=[3, 4, 5, 3, 4]), design("b", job=BASE)],
        "**b leaves fewer jobs unfinished:** 0 instead of 3.80 with a, 3.80 fewer (95 % interval 2.76 to 4.84, 5 paired seeds).",
        None,
    ),
    "no flow finished on one side": (
        [
            design("a", fct=BASE),
            design(
                "b",
                fct=None,
                p50=None,
                p99=None,
                slow=None,
                slow50=None,
                slow99=None,
                unfinished=[1000] * 5,
            ),
        ],
        "**b leaves more flows unfinished:** 1,000 instead of 0 with a, 1,000 more (the same with each of 5 paired seeds).",
        None,
    ),
    "better and cheaper": (
        [design("deep", fct=BASE, price=30_000), design("shallow", fct=by(0.7, 0.1), price=12_000)],
        "**shallow has the lower mean completion time:** 8.43 ms instead of 12.0 ms with deep, 30 % less (95 % interval 23 to 37 %, 5 paired seeds). "
        "Cost: USD 12,000 with shallow instead of 30,000, 60 % less.",
        "**shallow の方が完了時間の平均が小さくなります。**8.43 ms（deep は 12.0 ms）、30% 減（95% 信頼区間 23～37%、対応するシード 5 個）。"
        "費用: shallow は USD 12,000、deep は USD 30,000（60% 減）。",
    ),
    "worse and cheaper": (
        [design("deep", fct=BASE, price=30_000), design("shallow", fct=by(1.3, 0.1), price=12_000)],
        "**shallow has the higher mean completion time:** 15.6 ms instead of 12.0 ms with deep, 30 % more (95 % interval 18 to 43 %, 5 paired seeds). "
        "Cost: USD 12,000 with shallow instead of 30,000, 60 % less.",
        None,
    ),
    "as good and cheaper": (
        [design("deep", price=30_000), design("shallow", price=12_000)],
        "**No main measure differs between shallow and deep.** They are equal with each seed (5 paired seeds). "
        "Cost: USD 12,000 with shallow instead of 30,000, 60 % less.",
        None,
    ),
    "as dear": (
        [design("deep", fct=BASE, price=30_000), design("shallow", fct=by(0.7, 0.1), price=30_000)],
        "**shallow has the lower mean completion time:** 8.43 ms instead of 12.0 ms with deep, 30 % less (95 % interval 23 to 37 %, 5 paired seeds).",
        None,
    ),
    "the best is as dear as the baseline, another is cheaper": (
        [
            design("deep", fct=BASE, price=30_000),
            design("marking", fct=by(0.5, 0.05), price=30_000),
            design("shallow", fct=by(0.8, 0.05), price=12_000),
        ],
        "**marking has the lowest mean completion time:** 6.01 ms instead of 12.0 ms, 50 % less (95 % interval 47 to 52 %, 5 paired seeds). "
        "Also lower than with deep: shallow (20 % less). Cost: USD 30,000 with deep, USD 30,000 with marking, USD 12,000 with shallow.",
        None,
    ),
    "none of several is better": (
        [
            design("deep", fct=BASE, price=30_000),
            design("x", fct=by(1.5, 0.1), price=12_000),
            design("y", fct=by(1.3, 0.1), price=15_000),
        ],
        "**No design is better than deep.** x has a higher mean completion time than deep: 18.1 ms instead of 12.0 ms, 50 % more "
        "(95 % interval 36 to 65 %, 5 paired seeds). Also higher than with deep: y (30 % more). "
        "Cost: USD 30,000 with deep, USD 12,000 with x, USD 15,000 with y.",
        None,
    ),
    "several designs, one the best": (
        [
            design("deep", fct=BASE, price=30_000),
            design("x", fct=by(0.8, 0.05), price=12_000),
            design("y", fct=by(0.5, 0.05), price=15_000),
            design("z", fct=by(1.5, 0.1), price=9_000),
        ],
        "**y has the lowest mean completion time:** 6.01 ms instead of 12.0 ms, 50 % less (95 % interval 47 to 52 %, 5 paired seeds). "
        "Also lower than with deep: x (20 % less). Higher than with deep: z (50 % more). Cost: USD 15,000 with y instead of 30,000, 50 % less. "
        "Cheapest: z, USD 9,000.",
        "**完了時間の平均が最も小さいのは y です。**6.01 ms（deep は 12.0 ms）、50% 減（95% 信頼区間 47～52%、対応するシード 5 個）。"
        "同じく deep より小さい: x（20% 減）。deep より大きい: z（50% 増）。費用: y は USD 15,000、deep は USD 30,000（50% 減）。"
        "最も安いのは z（USD 9,000）です。",
    ),
    "several designs, two alike": (
        [
            design("deep", fct=BASE),
            design("x", fct=by(0.52, 0.05)),
            design(
                "y",
                fct=[
                    old * new / 2
                    for old, new in zip(BASE, (1.1, 0.9, 1.05, 0.93, 1.02), strict=True)
                ],
            ),
        ],
        "**y has a lower mean completion time than deep:** 5.97 ms instead of 12.0 ms, 50 % less (95 % interval 45 to 55 %, 5 paired seeds). "
        "Also lower than with deep: x (48 % less). y is not clearly better than x: between 15 % less and 8.7 % more; about 20 more seeds would decide.",
        None,
    ),
    "several designs, none better": (
        [design("deep", fct=BASE), design("x", fct=by(1.52, 0.05)), design("y", fct=by(1.2, 0.05))],
        "**No design is better than deep.** x has a higher mean completion time than deep: 18.3 ms instead of 12.0 ms, 52 % more "
        "(95 % interval 45 to 60 %, 5 paired seeds). Also higher than with deep: y (20 % more).",
        None,
    ),
    "several designs, nothing clear": (
        [design("deep", fct=BASE), design("x", fct=by(0.9, 0.3)), design("y", fct=by(1.1, 0.3))],
        "**Cannot tell whether any design is better than deep.** The mean completion time against deep: x 11.0 ms instead of 12.0 ms, "
        "between 33 % less and 21 % more; about 24 more seeds would decide; y 13.5 ms instead of 12.0 ms, between 18 % less and 48 % more; "
        "about 30 more seeds would decide.",
        None,
    ),
    "several designs, one with a single seed": (
        [design("a", fct=BASE), design("b", fct=by(0.7, 0.1)), design("c", fct=[5.0])],
        "**b has a lower mean completion time than a:** 8.43 ms instead of 12.0 ms, 30 % less (95 % interval 23 to 37 %, 5 paired seeds). "
        "Too few seeds to decide: c.",
        None,
    ),
    "only counters are clear": (
        [
            design("a", fct=BASE, drops=[100, 110, 90, 95, 105]),
            design(
                "b", fct=by(0.95, 0.3), drops=[10, 11, 9, 10, 12], marks=[500, 510, 490, 500, 505]
            ),
        ],
        "**Cannot tell whether b is better than a.** The mean completion time is 11.7 ms with b and 12.0 ms with a, between 29 % less and 28 % more "
        "(95 % interval, 5 paired seeds). About 80 more seeds would decide. "
        "Clear are only counters: queue drops (10.4 instead of 100); ECN marks (501 instead of 0).",
        None,
    ),
    "only counters differ": (
        [design("a", drops=[100, 110, 90, 95, 105]), design("b", drops=[10, 11, 9, 10, 12])],
        "**No main measure differs between b and a.** They are equal with each seed (5 paired seeds). Counters differ: queue drops (10.4 instead of 100).",
        None,
    ),
    # Goodput changed most, but for jobs it carries the same information as their time.
    "job time speaks before goodput": (
        [
            design("a", job=BASE, goodput=BASE),
            design(
                "b", job=[0.5 * value for value in BASE], goodput=[20 * value for value in BASE]
            ),
        ],
        "**b has the lower job time:** 6.00 ms instead of 12.0 ms with a, 50 % less (the same with each of 5 paired seeds). Also better: goodput while busy "
        "(20 times as much).",
        None,
    ),
    # c has more goodput than b, but b is better for jobs.
    "the best design is the best in the measure that is named": (
        [
            design("a", job=BASE, goodput=BASE),
            design(
                "b", job=[0.2 * value for value in BASE], goodput=[10 * value for value in BASE]
            ),
            design(
                "c", job=[0.5 * value for value in BASE], goodput=[20 * value for value in BASE]
            ),
        ],
        "**b has the lowest job time:** 2.40 ms instead of 12.0 ms, 80 % less (the same with each of 5 paired seeds). "
        "Also better with b: goodput while busy (10 times as much). Also lower than with a: c (50 % less).",
        None,
    ),
    "more is better": (
        [design("a", goodput=BASE), design("b", goodput=by(1.2, 0.1))],
        "**b has the higher goodput while busy:** 14.4 Gbps instead of 12.0 Gbps with a, 20 % more (95 % interval 8.8 to 32 %, 5 paired seeds).",
        None,
    ),
    "the same ratio with every seed": (
        [design("a", fct=BASE), design("b", fct=[0.8 * value for value in BASE])],
        "**b has the lower mean completion time:** 9.60 ms instead of 12.0 ms with a, 20 % less (the same with each of 5 paired seeds).",
        None,
    ),
    # Four seeds halve. The fifth one, in which everything takes a hundred times as long, is a tenth
    # longer.
    "the typical seed and the mean disagree": (
        [
            design("a", fct=[1.0, 1.0, 1.0, 1.0, 100.0]),
            design("b", fct=[0.5, 0.5, 0.5, 0.5, 110.0]),
        ],
        "**Cannot tell whether b is better than a.** The mean completion time is 22.4 ms with b and 20.8 ms with a, between 62 % less and 9.3 % less "
        "in the geometric mean of pairs (95 % interval, 5 paired seeds). The typical seed and the mean over the seeds disagree: single seeds decide the mean.",
        None,
    ),
    "the typical ratio is another one than that of the means": (
        [
            design("a", fct=[1.0, 1.0, 1.0, 1.0, 100.0]),
            design("b", fct=[0.5, 0.45, 0.55, 0.5, 80.0]),
        ],
        "**b has the lower mean completion time:** 16.4 ms instead of 20.8 ms with a, 45 % less in the geometric mean of pairs "
        "(95 % interval 28 to 58 %, 5 paired seeds).",
        None,
    ),
    "clear one by one, not together": (
        [
            design("a", fct=BASE, slow=BASE, p99=BASE),
            design("b", fct=by(0.8, 0.2), slow=by(0.85, 0.15), p99=by(1.02, 0.3)),
        ],
        "**Cannot tell whether b is better than a.** Judged alone, the mean completion time is clear: 9.70 ms with b instead of 12.0 ms with a, 20 % less "
        "(95 % interval 2.6 to 34 %, 5 paired seeds); among all 3 differences in the main measures it may be chance. About 2 more seeds would decide. "
        "The same holds for mean slowdown (15 % less). Cannot tell: p99 completion time.",
        "**b が a より優れているかは判断できません。**単独で見れば完了時間の平均の差は明確です: b は 9.70 ms、a は 12.0 ms、"
        "20% 減（95% 信頼区間 2.6～34%、対応するシード 5 個）。ただし、主な指標の差 3 個の中では偶然の可能性があります。"
        "あと約 2 個のシードで判断できる見込みです。次も同様です: スローダウンの平均（15% 減）。判断できない: 完了時間の p99。",
    ),
    "one established, one clear alone": (
        [
            design("a", fct=BASE, slow=BASE, p99=BASE),
            design("b", fct=by(0.5, 0.1), slow=by(0.85, 0.15), p99=by(1.02, 0.3)),
        ],
        "**b has the lower mean completion time:** 6.02 ms instead of 12.0 ms with a, 50 % less (95 % interval 45 to 55 %, 5 paired seeds). "
        "Clear only when judged alone, not among all 3 differences in the main measures: mean slowdown (15 % less). Cannot tell: p99 completion time.",
        None,
    ),
    # Values of the tutorial with five seeds. Two of them dominate the mean.
    "five seeds of which two decide the mean": (
        [
            design(
                "shallow",
                fct=[0.651, 1.221, 4.607, 8.068, 0.976],
                slow99=[57.3, 69.6, 104.1, 3940.1, 79.4],
                drops=[943, 1084, 1245, 1786, 1011],
                timeouts=[0, 1, 2, 4, 0],
                price=36_000,
            ),
            design(
                "deep",
                fct=[0.683, 0.705, 0.961, 1.407, 1.052],
                slow99=[99.2, 74.2, 82.9, 153.7, 90.1],
                price=96_000,
            ),
        ],
        "**Cannot tell whether deep is better than shallow.** The mean completion time is 962 µs with deep and 3.10 ms with shallow, "
        "between 84 % less and 39 % more in the geometric mean of pairs (95 % interval, 5 paired seeds). About 5 more seeds would decide. "
        "Cannot tell either: p99 slowdown (100 instead of 850, seed 4 decides: 96 % less there, between 32 % less and 89 % more with the others). "
        "Clear are only counters: queue drops (0 instead of 1,214). Cost: USD 96,000 with deep instead of 36,000, 167 % more.",
        None,
    ),
    "several designs, one measure clear alone": (
        [
            design("a", fct=BASE, p99=BASE),
            design("b", fct=by(0.9, 0.3), p99=by(1.1, 0.08)),
            design("c", fct=by(0.95, 0.3), p99=by(0.98, 0.1)),
        ],
        "**Cannot tell whether any design is better than a.** The mean completion time against a: b 11.0 ms instead of 12.0 ms, "
        "between 33 % less and 21 % more; about 31 more seeds would decide; c 11.7 ms instead of 12.0 ms, between 29 % less and 28 % more. "
        "Judged alone, the p99 completion time is clear: 13.2 ms with b instead of 12.0 ms with a, 10 % more "
        "(95 % interval 1.7 to 19 %, 5 paired seeds); among all 4 differences in the main measures it may be chance. About 2 more seeds would decide.",
        None,
    ),
    "several designs, one clear alone in the measure of the answer": (
        [
            design("a", fct=BASE),
            design("b", fct=by(0.5, 0.1)),
            design("c", fct=by(0.85, 0.15)),
            design("d", fct=by(1.02, 0.1)),
        ],
        "**b has the lowest mean completion time:** 6.02 ms instead of 12.0 ms, 50 % less (95 % interval 45 to 55 %, 5 paired seeds). "
        "No established difference from a in any main measure: c (15 % less, clear only when judged alone; about 1 more seed would decide); "
        "d (between 7.5 % less and 13 % more; about 79 more seeds would decide).",
        None,
    ),
    "a seed on one side only": (
        [design("a", fct=[*BASE, 15.0]), design("b", fct=by(0.7, 0.1))],
        "**b has the lower mean completion time:** 8.43 ms instead of 12.0 ms with a, 30 % less (95 % interval 23 to 37 %, 5 paired seeds).",
        None,
    ),
    "prices in two currencies": (
        [design("a", fct=BASE, price=10), design("b", fct=by(0.7, 0.1), price=5, currency="EUR")],
        "**b has the lower mean completion time:** 8.43 ms instead of 12.0 ms with a, 30 % less (95 % interval 23 to 37 %, 5 paired seeds).",
        None,
    ),
    "nothing finished anywhere": (
        [
            design(
                name,
                fct=None,
                p50=None,
                p99=None,
                slow=None,
                slow50=None,
                slow99=None,
                goodput=0.0,
                unfinished=1_000,
            )
            for name in ("a", "b")
        ],
        "**No main measure differs between b and a.** They are equal with each seed (5 paired seeds). Flows not finished: 1,000 of 1,000 with every design.",
        None,
    ),
}
