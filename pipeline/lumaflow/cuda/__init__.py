"""The CUDA lane; the only place that imports CuPy, and only once a GPU is wanted."""
