"""`python -m service` is `lumaflow`."""

from service.cli import main

main()
