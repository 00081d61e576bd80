"""Compressed and raw media: image codecs and headers, colour, YUV, and the format of a frame in a slot."""
