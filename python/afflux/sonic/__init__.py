"""SONiC's config_db.json: its buffer and QoS tables read into `[switch]`, and a design written back as a patch."""

from .tables import ConfigError, Tables, read

__all__ = ["ConfigError", "Tables", "read"]
