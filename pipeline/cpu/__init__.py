"""The CPU lane: the default without a GPU, and the definition of correct."""
