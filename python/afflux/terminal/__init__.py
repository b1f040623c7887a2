"""What a person at a terminal sees: messages and exit codes, tables, progress, completion of keys."""
