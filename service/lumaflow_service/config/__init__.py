"""Settings, configuration file and source options: reading and validation."""
