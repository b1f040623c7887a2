"""Estimates before a run: drawing of the fabric, cost of the run, windows and buffers of one
path."""
