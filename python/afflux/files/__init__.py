"""Files of our own: written as a whole or not at all (`durable`), CSV (`csvtext`), TOML (`toml`)."""
