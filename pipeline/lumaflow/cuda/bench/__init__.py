"""Measure the CUDA lane: profiler, baselines, PCIe bandwidth, experiments. Never imported by a lane."""
