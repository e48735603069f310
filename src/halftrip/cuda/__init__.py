"""CUDA's driver, found at run time: its calls, its devices, and what NVML knows of them."""
