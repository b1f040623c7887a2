"""Runs afflux on reference data of other simulators and of real systems, and compares the results:
`make validate`.

This package is outside the product on purpose: nothing in `crates/` or `python/afflux` depends on a
reference. A reader is one module named like its folder in the reference data (`ns3.py` reads
`ns3/`), with a function `cases(folder, bars)`. `reference/` has these data in a compact form.
"""
