"""The HTTP API of the API process: routes, middleware, request parsing, responses."""
