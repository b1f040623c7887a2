"""Keys of scenario files: where a key stands, and what is known about it."""
