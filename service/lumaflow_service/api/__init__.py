"""The HTTP routes, one module a kind of thing."""
