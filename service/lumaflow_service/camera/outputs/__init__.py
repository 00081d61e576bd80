"""Where enhanced frames go besides HTTP clients: files and other servers."""
