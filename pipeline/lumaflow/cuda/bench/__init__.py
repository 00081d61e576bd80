"""Measurements for the CUDA lane: profiler, other libraries, PCIe bandwidth, experiments.

Production code must not import this package.
"""
