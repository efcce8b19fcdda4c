#!/usr/bin/env python3
"""Writes the recorded case of tiled decoding: tiled_peer.py CASE FOLDER takes the autoencoder of the case CASE and decodes latents of several
sizes with diffusers' enable_tiling()."""
import json
import shutil
import sys
from pathlib import Path

import diffusers
import torch
from safetensors.torch import save_file


def main():
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.copytree(source / "model", folder / "model")
    vae = diffusers.AutoencoderKL.from_pretrained(folder / "model", torch_dtype=torch.float32).eval()
    vae.enable_tiling()
    side = vae.tile_latent_min_size
    generator = torch.Generator().manual_seed(1)
    inputs, outputs = {}, {}
    for name, rows, columns in (("wide", side - 1, 2 * side + 3), ("both", 2 * side - 1, side + 1)):
        latents = torch.randn(1, vae.config.latent_channels, rows, columns, generator=generator)
        inputs[f"latents.{name}"] = latents
        with torch.no_grad():
            outputs[f"decoded.{name}"] = vae.decode(latents, return_dict=False)[0].contiguous()
    save_file(inputs, folder / "inputs.safetensors")
    save_file(outputs, folder / "outputs.safetensors")
    case = {"name": "autoencoder_kl_tiled", "kind": "autoencoder_kl_tiled", "params": {}, "tolerance": {"atol": 1e-5, "rtol": 1e-5},
            "versions": {"torch": torch.__version__, "diffusers": diffusers.__version__}}
    (folder / "case.json").write_text(json.dumps(case, indent=2) + "\n")


if __name__ == "__main__":
    main()
