"""Output on a terminal: messages and exit codes, tables, progress, completion of keys."""
