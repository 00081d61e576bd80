"""The CPU lane and its kernels; their results are the reference for every device."""
