"""Files that afflux writes: durable files, outputs of commands, CSV, TOML."""
