"""Runs the cases from which the compiler learns in `make wheel PGO=1` (profile-guided optimisation).

The cases are those of golden.py without the random ones, each cut at 300,000 packet-hops or 1.3 s.
They run in this process, because workers of a pool end without writing their profile. A profile
changes how code is laid out, not what it computes.
"""

import sys

import golden

#: Packet-hops at which a case is cut: enough to fill queues and to leave slow start.
ENOUGH = 300_000
#: Simulated times at which a case is cut, in microseconds, until it has enough packet-hops.
CUTS = tuple(80 * 4**exponent for exponent in range(8))


def main() -> int:
    trained = 0
    for case in golden.written_cases():
        result = golden.cut_at(case, CUTS, ENOUGH)
        if "refused" in result:
            print(f"left out: {case[0]}: {result['refused']}")
        trained += result["packet_hops"]
    print(f"trained on {trained:,} packet-hops")
    return 0 if trained else 1


if __name__ == "__main__":
    sys.exit(main())
