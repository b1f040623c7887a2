"""Files that afflux writes: durable files, outputs of a command, CSV, TOML."""
