"""The same kernels in torch and Triton, for GPUs."""
