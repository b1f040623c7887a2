"""Finds the design that meets the goals of all tenants at the least price (`afflux decide`).
Designs, tenants and goals are in one file."""

from .decide import Decision, decide

__all__ = ["Decision", "decide"]
