"""Runs afflux on the reference data of other simulators and of real systems and compares: `make validate`.

Outside the product on purpose: nothing in `crates/` or `python/afflux` knows of any reference. A reader is one file named as
its folder in the reference data (`linux.py` reads `linux/`) with a function `cases(folder, bars)`. `reference/` has these data in a compact form.
"""
