#pragma once

/// What this project needs of LibTorch: tensors, automatic differentiation, modules. "models/nn/torch.h" also
/// holds data loaders, TorchScript and every layer and optimiser, which doubles the compile time of a file
/// and of the precompiled header. Where one of these is needed its own header is included beside this one.
#include <torch/autograd.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>
#include <torch/utils.h>
