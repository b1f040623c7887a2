"""Searches for the best settings: `afflux tune`. The search needs Optuna (extra `tune`)."""

from .result import Candidate, Drift, Tuning
from .search import tune

__all__ = ["Candidate", "Drift", "Tuning", "tune"]
