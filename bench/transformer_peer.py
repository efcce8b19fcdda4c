#!/usr/bin/env python3
"""diffusers in eager mode on what bench-transformer times: the same folder, inputs and number of threads.

    transformer_peer.py make FOLDER [--family sd3|flux] [--layers N] [--pixels P] [--images B]    random weights of the public model's width, with inputs
    transformer_peer.py time FOLDER [--family sd3|flux] [--device D] [--threads N]                one JSON line
    transformer_peer.py compare A B                                                               largest relative difference of two velocities

N layers of FLUX are N double and 2 N single blocks; 19 are FLUX.1-dev. 24 layers are SD3.5 Medium (2.2 billion parameters); the autoencoder has SD3's size. Gradients are those of peft's LoRA (rank
32, attention projections of both streams) through both halves of the guidance.
"""
import argparse
import json
import math
import pathlib
import resource
import statistics
import time

import torch
from diffusers import AutoencoderKL, FlowMatchEulerDiscreteScheduler, FluxTransformer2DModel, SD3Transformer2DModel
from safetensors.torch import load_file, save_file

GUIDANCE = 4.5
TARGETS = [f"attn.{name}" for name in ("add_k_proj", "add_q_proj", "add_v_proj", "to_add_out", "to_k", "to_out.0", "to_q", "to_v")]


SCALING = {"sd3": (1.5305, 0.0609), "flux": (0.3611, 0.1159)}


def sd3_transformer(layers):
    return SD3Transformer2DModel(
        sample_size=128, patch_size=2, in_channels=16, num_layers=layers, attention_head_dim=64,
        num_attention_heads=24, joint_attention_dim=4096, caption_projection_dim=1536, pooled_projection_dim=2048,
        out_channels=16, pos_embed_max_size=384, dual_attention_layers=list(range(min(13, layers))), qk_norm="rms_norm")


def flux_transformer(layers):
    return FluxTransformer2DModel(
        patch_size=1, in_channels=64, num_layers=layers, num_single_layers=2 * layers, attention_head_dim=128,
        num_attention_heads=24, joint_attention_dim=4096, pooled_projection_dim=768, guidance_embeds=True, axes_dims_rope=(16, 56, 56))


def make(args):
    torch.manual_seed(1)
    with torch.device(args.device):
        transformer = sd3_transformer(args.layers) if args.family == "sd3" else flux_transformer(args.layers)
        vae = AutoencoderKL(
            in_channels=3, out_channels=3, block_out_channels=[128, 256, 512, 512], layers_per_block=2, latent_channels=16,
            norm_num_groups=32, sample_size=1024, scaling_factor=SCALING[args.family][0], shift_factor=SCALING[args.family][1], use_quant_conv=False,
            use_post_quant_conv=False, down_block_types=["DownEncoderBlock2D"] * 4, up_block_types=["UpDecoderBlock2D"] * 4)
    if args.half:
        transformer, vae = transformer.bfloat16(), vae.bfloat16()
    folder = pathlib.Path(args.folder)
    transformer.save_pretrained(folder / "transformer")
    vae.save_pretrained(folder / "vae")
    side, b = args.pixels // 8, args.images
    tokens, pooled = (205, 2048) if args.family == "sd3" else (128, 768)
    save_file({"latents": torch.randn(b, 16, side, side), "text": torch.randn(b, tokens, 4096) * 0.2,
               "pooled": torch.randn(b, pooled), "negative_text": torch.randn(b, tokens, 4096) * 0.2,
               "negative_pooled": torch.randn(b, pooled)}, folder / "inputs.safetensors")
    print(json.dumps({"parameters": sum(p.numel() for p in transformer.parameters())}))


def peak_gigabytes():
    """The most memory so far: on a GPU what its allocator gave out, since the last call; elsewhere this process's resident set."""
    if torch.cuda.is_available() and torch.cuda.memory_allocated():
        peak = torch.cuda.max_memory_allocated() / 1e9
        torch.cuda.reset_peak_memory_stats()
        return peak
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


class Sd3Timing:
    network = SD3Transformer2DModel
    targets, rank = TARGETS, 32

    def __init__(self, args):
        self.args = args
        self.dtype = torch.bfloat16 if args.device.startswith("cuda") else torch.float32
        folder = pathlib.Path(args.folder)
        load = lambda cls, part, dtype: cls.from_pretrained(folder / part, torch_dtype=dtype).to(args.device).requires_grad_(False)
        self.transformer = load(self.network, "transformer", self.dtype)
        self.vae = load(AutoencoderKL, "vae", torch.float32)  # as the public trainers
        if args.compile:
            self.transformer.compile()
        if args.checkpointing:
            self.transformer.enable_gradient_checkpointing()
        inputs = {name: tensor.to(args.device) for name, tensor in load_file(folder / "inputs.safetensors").items()}
        self.x = inputs["latents"]
        half = lambda name: inputs[name].to(self.dtype)
        self.positive = half("text"), half("pooled")
        self.both = torch.cat([half("negative_text"), half("text")]), torch.cat([half("negative_pooled"), half("pooled")])

        self.loaded_peak = peak_gigabytes()

    def velocity(self, x, sigma, condition):
        t = torch.full((x.shape[0],), 1000 * sigma, device=x.device)
        return self.transformer(hidden_states=x.to(self.dtype), encoder_hidden_states=condition[0],
                                pooled_projections=condition[1], timestep=t, return_dict=False)[0].float()

    def guided(self, x, sigma):
        negative, positive = self.velocity(torch.cat([x, x]), sigma, self.both).chunk(2)
        return negative + GUIDANCE * (positive - negative)

    @torch.no_grad()
    def sample(self):
        sigmas, x = self.sigmas(), self.x
        for now, after in zip(sigmas, sigmas[1:]):
            x = x + (after - now) * self.guided(x, now)
        self.decode(x)

    @torch.no_grad()
    def decode(self, x):
        scaling, shift = SCALING[self.args.family]
        self.vae.decode(x / scaling + shift, return_dict=False)

    def sigmas(self):
        scheduler = FlowMatchEulerDiscreteScheduler(shift=3.0)
        scheduler.set_timesteps(self.args.steps)
        return scheduler.sigmas.tolist()

    def training_seconds(self):
        from peft import LoraConfig
        self.transformer.add_adapter(LoraConfig(r=self.rank, lora_alpha=2 * self.rank, init_lora_weights="gaussian", target_modules=self.targets))
        trained = [p for p in self.transformer.parameters() if p.requires_grad]
        for p in trained:
            p.data = p.data.float()
        return self.seconds(lambda: torch.autograd.grad(self.guided(self.x, 0.7).square().mean(), trained))

    def seconds(self, action):
        times = []
        for _ in range(self.args.repeats + 1):
            start = time.perf_counter()
            action()
            if self.args.device.startswith("cuda"):
                torch.cuda.synchronize()
            times.append(time.perf_counter() - start)
        return statistics.median(times[1:])

    def run(self):
        with torch.no_grad():
            first = self.velocity(self.x, 0.7, self.positive)
            if self.args.velocity:
                save_file({"velocity": first.cpu()}, self.args.velocity)
            forward = self.seconds(lambda: self.velocity(self.x, 0.7, self.positive))
        peaks = {"loaded": self.loaded_peak, "forward": peak_gigabytes()}
        training = self.training_seconds()
        peaks["training_step"] = peak_gigabytes()
        sampling = self.seconds(self.sample)
        peaks["sampling"] = peak_gigabytes()
        decoding = self.seconds(lambda: self.decode(self.x))
        return {"forward": forward, "training_step": training, "sampling": sampling, "decoding": decoding, "peak_gb": peaks,
                "images": self.x.shape[0], "dtype": str(self.dtype), "device": self.args.device}


class FluxTiming(Sd3Timing):
    network = FluxTransformer2DModel
    targets, rank = [*TARGETS, "ff.net.0.proj", "ff.net.2", "ff_context.net.0.proj", "ff_context.net.2"], 64

    def velocity(self, x, sigma, condition):
        b, c, h, w = x.shape
        tokens = x.view(b, c, h // 2, 2, w // 2, 2).permute(0, 2, 4, 1, 3, 5).reshape(b, h * w // 4, 4 * c)
        ids = torch.cartesian_prod(torch.zeros(1), torch.arange(h / 2), torch.arange(w / 2)).to(x.device)
        number = lambda value: torch.full((b,), value, device=x.device)
        out = self.transformer(hidden_states=tokens.to(self.dtype), encoder_hidden_states=condition[0], pooled_projections=condition[1], timestep=number(sigma),
                               guidance=number(3.5), img_ids=ids, txt_ids=torch.zeros(condition[0].shape[1], 3, device=x.device), return_dict=False)[0].float()
        return out.view(b, h // 2, w // 2, c, 2, 2).permute(0, 3, 1, 4, 2, 5).reshape(b, c, h, w)

    def guided(self, x, sigma):
        return self.velocity(x, sigma, self.positive)

    def sigmas(self):
        n, scale = self.args.steps, math.exp(0.63)
        return [scale / (scale + 1 / (1 - i / n) - 1) for i in range(n)] + [0.0]


def compare(args):
    a, b = (load_file(path)["velocity"] for path in (args.folder, args.other))
    print(json.dumps({"relative_difference": ((a - b).abs().max() / a.abs().max()).item()}))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("command", choices=["make", "time", "compare"]), p.add_argument("folder"), p.add_argument("other", nargs="?")
    p.add_argument("--family", choices=["sd3", "flux"], default="sd3")
    p.add_argument("--layers", type=int, default=4), p.add_argument("--pixels", type=int, default=256)
    p.add_argument("--images", type=int, default=1), p.add_argument("--half", action="store_true")
    p.add_argument("--device", default="cpu"), p.add_argument("--threads", type=int, default=2)
    p.add_argument("--steps", type=int, default=10), p.add_argument("--repeats", type=int, default=3)
    p.add_argument("--checkpointing", action="store_true"), p.add_argument("--compile", action="store_true"), p.add_argument("--velocity")
    args = p.parse_args()
    torch.set_num_threads(args.threads)
    if args.command == "make":
        make(args)
    elif args.command == "compare":
        compare(args)
    else:
        print(json.dumps((Sd3Timing if args.family == "sd3" else FluxTiming)(args).run()))


if __name__ == "__main__":
    main()
