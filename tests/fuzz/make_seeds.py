#!/usr/bin/env python3
"""Writes the first inputs of the fuzz targets: make_seeds.py FOLDER makes FOLDER/TARGET for each."""
import json
import pathlib
import struct
import sys

SIZES = {"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "I32": 4, "I64": 8, "F16": 2, "BF16": 2, "F32": 4, "F64": 8}


def safetensors(tensors, metadata=None):
    """A file that holds zeros. tensors: name -> (dtype, shape)."""
    header, end = {}, 0
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, (dtype, shape) in tensors.items():
        begin, size = end, SIZES[dtype]
        for extent in shape:
            size *= extent
        end += size
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + bytes(end)


def safetensors_seeds():
    yield safetensors({})
    yield safetensors({"a": ("F32", [2])}, {"format": "pt"})
    yield safetensors({"scalar": ("F64", []), "empty": ("I8", [0, 3]), "w": ("BF16", [2, 2])})
    yield safetensors({dtype: (dtype, [1]) for dtype in SIZES})
    yield safetensors({"\u00e9\u4f60": ("U8", [3])}, {"\u00e9": "\u4f60", "empty": ""})


def config_seeds():
    transformer = {
        "_class_name": "SD3Transformer2DModel", "_diffusers_version": "0.31.0", "attention_head_dim": 12,
        "caption_projection_dim": 24, "dual_attention_layers": [0, 1], "in_channels": 16, "joint_attention_dim": 40,
        "num_attention_heads": 2, "num_layers": 3, "out_channels": None, "patch_size": 2, "pooled_projection_dim": 26,
        "pos_embed_max_size": 20, "qk_norm": "rms_norm", "sample_size": 16}
    vae = {
        "_class_name": "AutoencoderKL", "act_fn": "silu", "block_out_channels": [8, 16],
        "down_block_types": ["DownEncoderBlock2D"] * 2, "up_block_types": ["UpDecoderBlock2D"] * 2, "force_upcast": True,
        "in_channels": 3, "latent_channels": 16, "latents_mean": None, "latents_std": None, "layers_per_block": 1,
        "mid_block_add_attention": True, "norm_num_groups": 4, "out_channels": 3, "sample_size": 32, "scaling_factor": 1.5305,
        "shift_factor": 0.0609, "use_post_quant_conv": False, "use_quant_conv": False}
    scheduler = {
        "_class_name": "FlowMatchEulerDiscreteScheduler", "base_image_seq_len": 256, "base_shift": 0.5, "invert_sigmas": False,
        "max_image_seq_len": 4096, "max_shift": 1.15, "num_train_timesteps": 1000, "shift": 3.0, "shift_terminal": None,
        "stochastic_sampling": False, "time_shift_type": "exponential", "use_beta_sigmas": False,
        "use_dynamic_shifting": True, "use_exponential_sigmas": False, "use_karras_sigmas": False}
    text = {"_class_name": "GlyphTextEncoder", "pooled_width": 32, "width": 128}
    clip = {
        "architectures": ["CLIPTextModelWithProjection"], "bos_token_id": 0, "eos_token_id": 2, "hidden_act": "quick_gelu",
        "hidden_size": 16, "intermediate_size": 32, "layer_norm_eps": 1e-05, "max_position_embeddings": 77,
        "model_type": "clip_text_model", "num_attention_heads": 2, "num_hidden_layers": 2, "projection_dim": 8,
        "vocab_size": 1000}
    t5 = {
        "d_ff": 64, "d_kv": 8, "d_model": 32, "dense_act_fn": "gelu_new", "feed_forward_proj": "gated-gelu",
        "is_gated_act": True, "layer_norm_epsilon": 1e-06, "model_type": "t5", "num_heads": 4, "num_layers": 2,
        "relative_attention_max_distance": 128, "relative_attention_num_buckets": 32, "vocab_size": 300}
    index = {"_class_name": "GlyphPipeline", "feature_extractor": [None, None], "vae": ["diffusers", "AutoencoderKL"]}
    for kind, document in enumerate((transformer, vae, scheduler, text, clip, t5, index)):
        yield bytes([kind]) + json.dumps(document).encode()


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def nested(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def piece(text, score, kind=1):
    return nested(1, nested(1, text.encode()) + varint(2 << 3 | 5) + struct.pack("<f", score) + varint(3 << 3) + varint(kind))


def tokenizer_seeds():
    pieces = piece("<pad>", 0, 3) + piece("</s>", 0, 3) + piece("<unk>", 0, 2) + piece("a", -1) + piece("aa", -1.5)
    trie = struct.pack("<3I", 1 << 10, 0, 0)
    normalizer = nested(3, nested(2, struct.pack("<I", len(trie)) + trie + b"b\0"))
    trainer = nested(2, varint(3 << 3) + varint(1))
    yield pieces
    yield pieces + trainer + b"\x1faab"
    yield pieces + normalizer + trainer + "\x1f\u00e9a\u0301a".encode()


def main():
    targets = {"safetensors_fuzz": safetensors_seeds(), "config_fuzz": config_seeds(), "tokenizer_fuzz": tokenizer_seeds()}
    for name, seeds in targets.items():
        folder = pathlib.Path(sys.argv[1]) / name
        folder.mkdir(parents=True, exist_ok=True)
        for i, seed in enumerate(seeds):
            (folder / f"seed{i}").write_bytes(seed)


if __name__ == "__main__":
    main()
