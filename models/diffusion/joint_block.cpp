#include "models/diffusion/joint_block.h"

#include "models/nn/module_path.h"
#include "models/nn/recompute.h"

namespace harness {

using torch::Tensor;

Dense JointBlock::linear(const std::string& path, std::int64_t in, std::int64_t out) {
  return register_path(*this, path, Dense(in, out));
}

QkNorm JointBlock::norms(const std::string& query, const std::string& key) {
  return {register_path(*this, query, Scale(shape_.head_size))->weight,
          register_path(*this, key, Scale(shape_.head_size))->weight};
}

JointBlock::JointBlock(const JointBlockShape& shape) : shape_(shape) {
  const auto c = shape.width();
  modulation_ = linear("norm1.linear", c, (shape.dual ? 9 : 6) * c);
  text_modulation_ = linear("norm1_context.linear", c, (shape.last ? 2 : 6) * c);
  const auto q = linear("attn.to_q", c, c), k = linear("attn.to_k", c, c), v = linear("attn.to_v", c, c);
  // What a norm reads next may be part of one array; v is copied beside the other stream's.
  const std::size_t joined = shape.qk_norm ? 2 : 0;
  qkv_ = LayerGroup({q, k, v}, joined);
  const auto text_k = linear("attn.add_k_proj", c, c), text_v = linear("attn.add_v_proj", c, c),
             text_q = linear("attn.add_q_proj", c, c);
  text_qkv_ = shape.last ? LayerGroup({text_k, text_v}) : LayerGroup({text_q, text_k, text_v}, joined);
  out_ = linear("attn.to_out.0", c, c);
  if (!shape.last) text_out_ = linear("attn.to_add_out", c, c);
  if (shape.dual) {
    const auto q2 = linear("attn2.to_q", c, c), k2 = linear("attn2.to_k", c, c),
               v2 = linear("attn2.to_v", c, c);
    qkv2_ = LayerGroup({q2, k2, v2}, joined);
    out2_ = linear("attn2.to_out.0", c, c);
  }
  if (shape.qk_norm) {
    norm_ = norms("attn.norm_q", "attn.norm_k");
    text_norm_ = norms("attn.norm_added_q", "attn.norm_added_k");
    if (shape.dual) norm2_ = norms("attn2.norm_q", "attn2.norm_k");
  }
  ff_in_ = linear("ff.net.0.proj", c, 4 * c);
  ff_out_ = linear("ff.net.2", 4 * c, c);
  if (!shape.last) {
    text_ff_in_ = linear("ff_context.net.0.proj", c, 4 * c);
    text_ff_out_ = linear("ff_context.net.2", 4 * c, c);
  }
}

void JointBlock::run(Tensor& image, Tensor& text, const Tensor& condition, const Rotation& rotation) {
  const auto [heads, head_size, qk_norm, last, dual] = shape_;
  const auto m =
      modulation_(condition).chunk(dual ? 9 : 6, -1);  // shift, scale, gate: attention, mlp, attention 2
  const auto t = text_modulation_(condition).chunk(last ? 2 : 6, -1);
  const auto x = modulated_norm(image, m[1], m[0]);
  const auto y = last ? modulated_norm(text, t[0], t[1]) : modulated_norm(text, t[1], t[0]);
  const auto second = dual ? modulated_norm(image, m[7], m[6]) : Tensor();

  const auto n = image.size(1);
  const auto of_image = qkv_(x), of_text = text_qkv_(y);
  const std::size_t text_k = last ? 0 : 1;
  // The last block throws the text's output away, so the text asks nothing there.
  const auto q = last ? norm_.query(of_image[0], rotation.cos.defined() ? rotation.of_tokens(0, n) : rotation)
                      : joint_head_norm({of_image[0], norm_.q}, {of_text[0], text_norm_.q}, rotation);
  const auto k = joint_head_norm({of_image[1], norm_.k}, {of_text[text_k], text_norm_.k}, rotation);
  const auto v = torch::cat({of_image[2], of_text[text_k + 1]}, 1);
  const auto mixed = attention(q, k, v, heads);

  image = gated_add(image, m[2], out_(mixed.narrow(1, 0, n)));
  if (dual) {
    const auto qkv = qkv2_(second);
    image = gated_add(image, m[8], out2_(attention(norm2_.query(qkv[0]), norm2_.key(qkv[1]), qkv[2], heads)));
  }
  image = gated_add(image, m[5], ff_out_(gelu_tanh(ff_in_(modulated_norm(image, m[4], m[3])))));
  if (last) return;
  text = gated_add(text, t[2], text_out_(mixed.narrow(1, n, text.size(1))));
  text = gated_add(text, t[5], text_ff_out_(gelu_tanh(text_ff_in_(modulated_norm(text, t[4], t[3])))));
}

void run_block(const std::shared_ptr<JointBlock>& block, Tensor& image, Tensor& text, const Tensor& condition,
               const Rotation& rotation, bool recompute) {
  if (!recompute || !torch::GradMode::is_enabled()) return block->run(image, text, condition, rotation);
  const auto run = [block, rotation](const std::vector<Tensor>& in) {
    auto x = in[0], y = in[1];
    block->run(x, y, in[2], rotation);
    return std::vector<Tensor>{x, y};
  };
  const auto out = recomputed(run, {image, text, condition}, trained_tensors(*block));
  image = out[0];
  text = out[1];
}

EmbeddingLayers EmbeddingLayers::make(torch::nn::Module& root, const std::string& path, std::int64_t in,
                                      std::int64_t out) {
  return {register_path(root, path + ".linear_1", Dense(in, out)),
          register_path(root, path + ".linear_2", Dense(out, out))};
}

Tensor EmbeddingLayers::of_numbers(const Tensor& numbers) {
  return (*this)(timestep_embedding(numbers, kSinusoids).to(first->weight.scalar_type()));
}

}  // namespace harness
