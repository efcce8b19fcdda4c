#!/usr/bin/env python3
"""FLUX.1-dev by the reference libraries, where no public weights are at hand.

    flux_peer.py folder OUT    the whole folder at full shape, random bfloat16 weights written tensor by tensor (34 GB)
    flux_peer.py block OUT     a parity case: one double and one single block at full width, in float32

Names and shapes come from diffusers' and transformers' own classes on torch's meta device.
"""
import argparse
import json
import shutil
import struct
from pathlib import Path

import torch
from diffusers import AutoencoderKL, FlowMatchEulerDiscreteScheduler, FluxTransformer2DModel
from safetensors.torch import save_file
from transformers import CLIPTextConfig, CLIPTextModel, T5Config, T5EncoderModel

SMALL = Path(__file__).parents[1] / "data/parity/flux_pipeline/model"  # tokenizers of a small pipeline
SHARD_BYTES = 5 << 30
TRANSFORMER = {"patch_size": 1, "in_channels": 64, "num_layers": 19, "num_single_layers": 38, "attention_head_dim": 128, "num_attention_heads": 24,
               "joint_attention_dim": 4096, "pooled_projection_dim": 768, "guidance_embeds": True, "axes_dims_rope": (16, 56, 56)}  # fmt: skip
VAE = {"in_channels": 3, "out_channels": 3, "down_block_types": ("DownEncoderBlock2D",) * 4, "up_block_types": ("UpDecoderBlock2D",) * 4,
       "block_out_channels": (128, 256, 512, 512), "layers_per_block": 2, "latent_channels": 16, "norm_num_groups": 32, "sample_size": 1024,
       "scaling_factor": 0.3611, "shift_factor": 0.1159, "use_quant_conv": False, "use_post_quant_conv": False}  # fmt: skip


def shards_of(tensors):
    """Lists of (name, shape) of at most SHARD_BYTES each."""
    shards, size = [[]], 0
    for name, shape in tensors:
        length = 2 * torch.Size(shape).numel()
        if shards[-1] and size + length > SHARD_BYTES:
            shards.append([])
            size = 0
        shards[-1].append((name, shape))
        size += length
    return shards


def write_shard(path, tensors, generator):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in tensors:
        end = offset + 2 * torch.Size(shape).numel()
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, shape in tensors:
            values = torch.randn(torch.Size(shape).numel(), generator=generator).mul_(0.02).to(torch.bfloat16)
            file.write(values.view(torch.int16).numpy().tobytes())


def write_weights(folder, stem, tensors, generator):
    shards = shards_of(tensors)
    names = [f"{stem}.safetensors"] if len(shards) == 1 else [f"{stem}-{i + 1:05d}-of-{len(shards):05d}.safetensors" for i in range(len(shards))]
    for name, shard in zip(names, shards):
        write_shard(folder / name, shard, generator)
        print(folder / name, flush=True)
    if len(shards) > 1:
        index = {"metadata": {"total_size": sum(2 * torch.Size(s).numel() for _, s in tensors)},
                 "weight_map": {tensor: name for name, shard in zip(names, shards) for tensor, _ in shard}}  # fmt: skip
        (folder / f"{stem}.safetensors.index.json").write_text(json.dumps(index))


def component(out, name, model, stem, generator):
    folder = out / name
    folder.mkdir(parents=True)
    model.save_config(folder) if hasattr(model, "save_config") else model.config.save_pretrained(folder)
    shared = {"encoder.embed_tokens.weight"}  # T5's second name of shared.weight
    write_weights(folder, stem, [(n, t.shape) for n, t in model.state_dict().items() if n not in shared], generator)


def write_folder(out):
    generator = torch.Generator().manual_seed(0)
    with torch.device("meta"):
        transformer, vae = FluxTransformer2DModel(**TRANSFORMER), AutoencoderKL(**VAE)
        clip = CLIPTextModel(CLIPTextConfig(vocab_size=49408, hidden_size=768, intermediate_size=3072, projection_dim=768, num_hidden_layers=12, num_attention_heads=12,
                                            max_position_embeddings=77, hidden_act="quick_gelu", eos_token_id=2, bos_token_id=0, pad_token_id=1))  # fmt: skip
        t5 = T5EncoderModel(T5Config(vocab_size=32128, d_model=4096, d_kv=64, d_ff=10240, num_layers=24, num_heads=64, feed_forward_proj="gated-gelu"))
    component(out, "transformer", transformer, "diffusion_pytorch_model", generator)
    component(out, "vae", vae, "diffusion_pytorch_model", generator)
    component(out, "text_encoder", clip, "model", generator)
    component(out, "text_encoder_2", t5, "model", generator)
    FlowMatchEulerDiscreteScheduler(shift=3.0, use_dynamic_shifting=True).save_pretrained(out / "scheduler")
    for name in ("tokenizer", "tokenizer_2", "model_index.json"):
        (shutil.copytree if (SMALL / name).is_dir() else shutil.copy)(SMALL / name, out / name)


def write_block(out):
    torch.manual_seed(1)
    model = FluxTransformer2DModel(**(TRANSFORMER | {"num_layers": 1, "num_single_layers": 1}))
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn(p.shape) * (0.02 if p.dim() > 1 else 0.1))
    model.save_pretrained(out / "model", max_shard_size="40GB")
    rows, columns, tokens = 6, 5, 9
    ids = torch.zeros(rows, columns, 3)
    ids[..., 1], ids[..., 2] = torch.arange(rows)[:, None], torch.arange(columns)[None, :]
    inputs = {"hidden_states": torch.randn(1, rows * columns, 64), "encoder_hidden_states": torch.randn(1, tokens, 4096), "pooled_projections": torch.randn(1, 768),
              "timestep": torch.tensor([0.625]), "guidance": torch.tensor([0.75]), "img_ids": ids.reshape(-1, 3), "txt_ids": torch.zeros(tokens, 3)}  # fmt: skip
    probe = torch.randn(1, rows * columns, 64) * 100
    names = ["x_embedder.weight", "transformer_blocks.0.attn.to_q.weight", "single_transformer_blocks.0.proj_out.weight"]
    sample = model(**inputs, return_dict=False)[0]
    gradients = torch.autograd.grad((sample * probe).mean(), [model.get_parameter(n) for n in names])
    save_file({k: v.contiguous() for k, v in (inputs | {"probe": probe}).items()}, out / "inputs.safetensors")
    save_file({"sample": sample.detach()} | {f"grad.{n}": g for n, g in zip(names, gradients)}, out / "outputs.safetensors")
    case = {"name": "flux_block", "kind": "flux_transformer", "params": {"gradients": names}, "tolerance": {"atol": 1e-6, "rtol": 3e-5}}
    (out / "case.json").write_text(json.dumps(case, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["folder", "block"])
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    (write_folder if arguments.what == "folder" else write_block)(arguments.out)


if __name__ == "__main__":
    main()
