#pragma once

#include "models/parity/parity_case.h"

namespace harness {

// One function a kind of recorded reference computation: its outputs by name, in the precision of the case.

TensorMap run_sd3_transformer_case(const ParityCase& c);
TensorMap run_autoencoder_kl_case(const ParityCase& c);
TensorMap run_autoencoder_kl_tiled_case(const ParityCase& c);
TensorMap run_encode_prompt_case(const ParityCase& c);
TensorMap run_clip_image_processor_case(const ParityCase& c);
TensorMap run_clip_model_case(const ParityCase& c);
TensorMap run_clip_text_case(const ParityCase& c);
TensorMap run_clip_text_projection_case(const ParityCase& c);
TensorMap run_t5_encoder_case(const ParityCase& c);
TensorMap run_tokenizer_case(const ParityCase& c);

// The kind `tokenizer` by family.
TensorMap clip_tokenizer_case(const ParityCase& c);
TensorMap t5_tokenizer_case(const ParityCase& c);

}  // namespace harness
