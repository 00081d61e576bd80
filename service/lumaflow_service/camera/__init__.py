"""Frames from elsewhere than HTTP clients, each kind in a process of its own."""
