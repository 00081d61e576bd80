"""Outputs of a camera: recordings, snapshots, descriptors, and publishing to other servers."""
