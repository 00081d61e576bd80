"""`python -m lumaflow_service` runs the command `lumaflow`."""

from lumaflow_service.cli import main

main()
