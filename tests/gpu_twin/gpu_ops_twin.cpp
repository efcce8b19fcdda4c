// The code around the GPU's kernels, compiled for kernels_twin.cpp: what it does with gradients, strides and
// types is tested without a GPU.
#include "models/nn/gpu_ops.cpp"
