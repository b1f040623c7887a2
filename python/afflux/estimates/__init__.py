"""What can be said before a run: a fabric drawn, the cost of a run estimated, a path planned by formula."""
