"""Compares designs over the seeds that both have, and writes the answer in words."""
