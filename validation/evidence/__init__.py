"""Evidence for notes about misses: scripts, and their results."""
