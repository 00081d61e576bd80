"""Compressed video with PyAV: the main stream of a container decoded, and an encoded one added to another."""
