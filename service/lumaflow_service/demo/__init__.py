"""Generator of the demo clip: a dim street scene, drawn by code and encoded once into the user's cache."""
