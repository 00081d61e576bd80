"""`python -m service` is `lumaflow`."""

from lumaflow_service.cli import main

main()
