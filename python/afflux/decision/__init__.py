"""Designs, tenants and goals in one file, and which design meets the goals at the least price (`afflux decide`)."""

from .decide import Decision, decide

__all__ = ["Decision", "decide"]
