#pragma once

#include "models/nn/head_norm.h"
#include "models/nn/torch.h"

namespace harness {

// B batch, N tokens, C channels, H heads. float32 on the CPU takes own kernels and oneDNN, everything else
// LibTorch's operators: a matter of device, dtype and sizes alone, never of the gradient mode.

/// x W^T + b over the last axis. x [..,K], weight [N,K], bias [N] or undefined -> [..,N].
torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias);

/// GELU, tanh form.
torch::Tensor gelu_tanh(const torch::Tensor& x);

/// Layer norm without weights (eps 1e-6), then x (1 + scale) + shift. x [B,N,C]; scale, shift [B,C].
torch::Tensor modulated_norm(const torch::Tensor& x, const torch::Tensor& scale, const torch::Tensor& shift);

/// x + gate * y. x, y [B,N,C]; gate [B,C] -> [B,N,C].
torch::Tensor gated_add(const torch::Tensor& x, const torch::Tensor& gate, const torch::Tensor& y);

/// softmax(q k^T / sqrt(d)) v over all tokens. q, k, v [B,N,H*d] -> [B,N,H*d].
torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        std::int64_t heads);

/// x / rms(x) * weight over the last axis of each head, in float32 (eps 1e-6). x [B,N,H*d]; weight [d].
torch::Tensor head_rms_norm(const torch::Tensor& x, const torch::Tensor& weight);

/// head_rms_norm, then channels 2i and 2i + 1 of each head turned together by angle i of the token. x
/// [B,N,H*d]
/// -> the same.
torch::Tensor head_rms_norm(const torch::Tensor& x, const torch::Tensor& weight, const Rotation& rotation);

/// The streams' tokens one after the other, each stream after its head_rms_norm; `rotation`, without tensors
/// where nothing is turned, is of all of them. -> [B,N+S,H*d].
torch::Tensor joint_head_norm(const HeadNormInput& first, const HeadNormInput& second,
                              const Rotation& rotation);

/// Sinusoidal embedding of t [B] -> [B,channels]: cosines, sines, exponent -2 ln(10000) i / channels.
torch::Tensor timestep_embedding(const torch::Tensor& t, std::int64_t channels);

}  // namespace harness
