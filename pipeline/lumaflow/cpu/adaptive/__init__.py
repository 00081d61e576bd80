"""The adaptive modes on the CPU: the definition of their results (spec 16, 17)."""
