"""Runs that notes about misses point at: scripts, and what they gave."""
