"""Searching for settings: `afflux tune`. Needs Optuna (extra `tune`) once it searches."""

from .result import Candidate, Drift, Tuning
from .search import tune

__all__ = ["Candidate", "Drift", "Tuning", "tune"]
