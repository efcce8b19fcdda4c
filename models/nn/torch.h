#pragma once

/// What this project needs of LibTorch. <torch/torch.h> also holds data loaders, TorchScript and every layer
/// and optimiser, which doubles compile times; where one of these is needed its own header is included.
#include <torch/autograd.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>
#include <torch/utils.h>
