"""Designs compared over the seeds that both have, and the answer in words."""
