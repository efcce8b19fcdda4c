#!/usr/bin/env python3
"""LoRA of the SD3 and FLUX transformers in Python (peft, diffusers), for scripts/check-lora and the recorded case tests/data/parity/lora_sd3.

    lora_peer.py case FOLDER [--family sd3|flux] [--form peft|diffusers|alphas] [--ranks one|mixed|rslora] [--seed N]
                                                                        a parity case of kind "lora" with outputs from peft
    lora_peer.py ranks FOLDER CASE                                      adapters with a rank and an alpha by layer, for the network and inputs of a case
    lora_peer.py compare CASE OURS                                      what train_adapter wrote to OURS, loaded by peft and by diffusers

A case's adapter/ is as peft's save_pretrained writes it (peft), as diffusers' save_lora_weights does (diffusers), or the latter without
metadata but with an .alpha tensor a layer (alphas). Its layers have one rank and one alpha, or several (mixed), scaled by alpha / sqrt(rank) (rslora).
ranks writes tests/data/lora_ranks: the same matrices as peft/, as a model's own save_lora_adapter writes them (diffusers/) and with .alpha tensors
(alphas/); outputs.safetensors has peft's output and gradients, and its output with use_rslora."""
import argparse
import copy
import importlib.metadata
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from diffusers import FluxPipeline, FluxTransformer2DModel, SD3Transformer2DModel, StableDiffusion3Pipeline
from peft import LoraConfig, PeftModel, get_peft_model, get_peft_model_state_dict
from safetensors.torch import load_file, save_file

TOLERANCE = 1e-4
ATTENTION = ["attn.add_k_proj", "attn.add_q_proj", "attn.add_v_proj", "attn.to_add_out", "attn.to_k", "attn.to_out.0", "attn.to_q", "attn.to_v"]
TARGETS = {"sd3": ATTENTION, "flux": [*ATTENTION, "ff.net.0.proj", "ff.net.2", "ff_context.net.0.proj", "ff_context.net.2"]}
MODELS = {"sd3": (SD3Transformer2DModel, StableDiffusion3Pipeline), "flux": (FluxTransformer2DModel, FluxPipeline)}
PARAMS = {"probe_scales": [1.0, 0.1, 3.0], "max_grad_norm": 1.0, "lr": 3e-4, "betas": [0.9, 0.999], "weight_decay": 1e-4, "eps": 1e-8}
# Keys as people write them: an end of a name, an expression, a whole name.
MIXED = {"rank_pattern": {"attn.to_q": 2, r"transformer_blocks\.1\.attn\.(add_)?to_(k|v)": 4, "^transformer_blocks.0.attn.to_out.0": 1},
         "alpha_pattern": {"attn.to_v": 1.5, "^transformer_blocks.0.attn.to_k": 7, r".*add_[qk]_proj": 2}}  # fmt: skip
RANKS = {"one": {}, "mixed": MIXED, "rslora": {**MIXED, "use_rslora": True}}
NUMBERS = ("timestep", "guidance", "img_ids", "txt_ids")  # float32 in every precision


def random_transformer(family):
    """The flags of SD3.5 Medium (dual attention in the first blocks, normed queries and keys), or of FLUX.1-dev, in a tiny size."""
    if family == "sd3":
        model = SD3Transformer2DModel(
            sample_size=8, patch_size=2, in_channels=16, out_channels=16, num_layers=2, num_attention_heads=2, attention_head_dim=8,
            joint_attention_dim=12, caption_projection_dim=16, pooled_projection_dim=10, pos_embed_max_size=6, dual_attention_layers=(0,), qk_norm="rms_norm",
        )
    else:
        model = FluxTransformer2DModel(
            patch_size=1, in_channels=16, num_layers=2, num_single_layers=2, attention_head_dim=10, num_attention_heads=2, joint_attention_dim=12,
            pooled_projection_dim=10, guidance_embeds=True, axes_dims_rope=(2, 4, 4),
        )
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() > 1:
                p.copy_(torch.randn(p.shape) * 1.2 / p[0].numel() ** 0.5)
            else:
                p.add_(torch.randn(p.shape) * 0.1)
    return model.eval()


def random_inputs(family):
    text = {"encoder_hidden_states": torch.randn(2, 5, 12), "pooled_projections": torch.randn(2, 10)}
    if family == "sd3":
        return text | {"hidden_states": torch.randn(2, 16, 6, 8), "timestep": torch.rand(2) * 995 + 5, "probe": torch.randn(2, 16, 6, 8) * 100}
    ids = torch.cartesian_prod(torch.zeros(1), torch.arange(3.0), torch.arange(4.0))
    return text | {"hidden_states": torch.randn(2, 12, 16), "timestep": torch.rand(2), "guidance": torch.tensor([0.75, 0.5]), "img_ids": ids,
                   "txt_ids": torch.zeros(5, 3), "probe": torch.randn(2, 12, 16) * 100}  # fmt: skip


def sample(model, inputs):
    return model(**{k: v for k, v in inputs.items() if k != "probe"}, return_dict=False)[0]


def record(model, inputs):
    """Three clipped AdamW steps: output, gradients, norms and weights."""
    weights = {n.replace(".default.", "."): p for n, p in model.named_parameters() if p.requires_grad}
    optimiser = torch.optim.AdamW(weights.values(), lr=PARAMS["lr"], betas=PARAMS["betas"], eps=PARAMS["eps"], weight_decay=PARAMS["weight_decay"])
    out, norms = {}, []
    for step, scale in enumerate(PARAMS["probe_scales"], start=1):
        optimiser.zero_grad()
        velocity = sample(model, inputs)
        (velocity * inputs["probe"] * scale).mean().backward()
        if step == 1:
            out["sample"] = velocity.detach()
            out |= {f"grad.{n}": p.grad.clone() for n, p in weights.items() if p.grad is not None}
        norms.append(torch.nn.utils.clip_grad_norm_(weights.values(), PARAMS["max_grad_norm"]))
        optimiser.step()
        if step in (1, len(PARAMS["probe_scales"])):
            out |= {f"after.{step}.{n}": p.detach().clone() for n, p in weights.items()}
    with torch.no_grad():
        out["sample_after"] = sample(model, inputs)
    return out | {"grad_norm": torch.stack(norms)}


def save_adapter(model, family, folder, form):
    if form == "peft":
        model.save_pretrained(folder)
        (folder / "README.md").unlink(missing_ok=True)
        config = json.loads((folder / "adapter_config.json").read_text())
        config["target_modules"] = sorted(config["target_modules"])
        (folder / "adapter_config.json").write_text(json.dumps(config, indent=1) + "\n")
        return
    state = {k.removeprefix("base_model.model."): v for k, v in get_peft_model_state_dict(model).items()}
    config = model.peft_config["default"].to_dict()
    if form == "diffusers":
        MODELS[family][1].save_lora_weights(folder, transformer_lora_layers=state, transformer_lora_adapter_metadata=config)
        return
    tensors = {f"transformer.{k}": v.contiguous() for k, v in state.items()}
    for name, layer in model.base_model.model.named_modules():
        if hasattr(layer, "lora_A"):  # B A is scaled by alpha / rank in this form
            tensors[f"transformer.{name}.alpha"] = torch.tensor(float(layer.scaling["default"] * layer.r["default"]))
    folder.mkdir()
    save_file(tensors, folder / "pytorch_lora_weights.safetensors", metadata={"format": "pt"})


def with_adapter(base, family, ranks):
    model = get_peft_model(base, LoraConfig(r=3, lora_alpha=5, target_modules=TARGETS[family], **RANKS[ranks])).eval()
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            if "lora_" in name:
                p.copy_(torch.randn(p.shape) * (p.shape[1] ** -0.5 if "lora_A" in name else 0.3))
    return model


def make_case(folder, family, form, ranks, seed):
    torch.manual_seed(seed)
    folder.mkdir(parents=True)
    base = random_transformer(family)
    base.save_pretrained(folder / "model")
    inputs = random_inputs(family)
    model = with_adapter(base, family, ranks)
    save_adapter(model, family, folder / "adapter", form)
    save_file(inputs, folder / "inputs.safetensors")
    save_file(record(model, inputs), folder / "outputs.safetensors")
    versions = {p: importlib.metadata.version(p) for p in ("torch", "diffusers", "peft")}
    document = {
        "name": f"lora_{family}_{form}" + ("" if ranks == "one" else f"_{ranks}"), "kind": "lora", "reference": {"library": "peft", "class": f"PeftModel over {MODELS[family][0].__name__}", "versions": versions},
        "params": {"backbone": family, **PARAMS}, "tolerance": {"atol": 1e-6, "rtol": 3e-5, "overrides": [{"match": "after.*", "atol": 5e-5, "rtol": 0.0}]},
    }
    (folder / "case.json").write_text(json.dumps(document, indent=1) + "\n")


def make_ranks(folder, case, seed):
    torch.manual_seed(seed)
    folder.mkdir(parents=True)
    base, inputs = MODELS["sd3"][0].from_pretrained(case / "model").eval(), load_file(case / "inputs.safetensors")
    model = with_adapter(copy.deepcopy(base), "sd3", "mixed")
    for form in ("peft", "alphas"):
        save_adapter(model, "sd3", folder / form, form)
    base.add_adapter(LoraConfig(r=3, lora_alpha=5, target_modules=TARGETS["sd3"], **MIXED))
    own = get_peft_model_state_dict(model)
    base.load_state_dict({k.removeprefix("base_model.model.").replace(".weight", ".default.weight"): v for k, v in own.items()}, strict=False)
    base.save_lora_adapter(folder / "diffusers")
    out = {"sample": sample(model, inputs)}
    (out["sample"] * inputs["probe"]).mean().backward()
    out |= {f"grad.{n.replace('.default.', '.')}": p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    with torch.no_grad():
        assert error(sample(base, inputs), out["sample"]) < 1e-5
        for layer in model.modules():
            if hasattr(layer, "scaling"):
                layer.scaling["default"] *= layer.r["default"] ** 0.5
        out["sample_rslora"] = sample(model, inputs)
    save_file({k: v.detach().contiguous() for k, v in out.items()}, folder / "outputs.safetensors")


def error(a, b):
    return (a.double() - b.double()).abs().max().item()


@torch.no_grad()
def compare(case, ours):
    inputs, theirs = load_file(case / "inputs.safetensors"), load_file(ours / "sample.safetensors")
    network, of = MODELS[json.loads((case / "case.json").read_text())["params"]["backbone"]]
    base = network.from_pretrained(case / "model").eval()
    plain = sample(base, inputs)

    by_peft = PeftModel.from_pretrained(copy.deepcopy(base), ours / "peft").eval()
    parts = {name: None for name in of._get_signature_keys(of)[0] if name != "transformer"}
    pipeline = of(transformer=copy.deepcopy(base), **parts)
    pipeline.load_lora_weights(ours / "diffusers")
    half = PeftModel.from_pretrained(copy.deepcopy(base).to(torch.bfloat16), ours / "peft").eval()
    half_sample = sample(half, {k: v if k in NUMBERS else v.bfloat16() for k, v in inputs.items()})
    merged = sample(copy.deepcopy(by_peft).merge_and_unload(), inputs)

    effect = error(theirs["sample"], plain)
    errors = {
        "base": error(theirs["base"], plain),
        "peft": error(theirs["sample"], sample(by_peft, inputs)),
        "diffusers": error(theirs["sample"], sample(pipeline.transformer, inputs)),
        "merged": error(theirs["merged"], merged),
    }
    half_errors = {"peft_bf16": error(theirs["sample_bf16"], half_sample), "peft_bf16_to_fp32": error(half_sample, theirs["sample"])}
    # bf16 networks of two libraries differ by their own rounding, which is what bf16 differs from float32 by.
    passed = max(errors.values()) <= TOLERANCE and effect > 100 * TOLERANCE and half_errors["peft_bf16"] <= 2 * half_errors["peft_bf16_to_fp32"]
    print(json.dumps({"effect_of_the_adapter": effect, **errors, **half_errors, "tolerance": TOLERANCE, "passed": passed}))
    return 0 if passed else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    case = commands.add_parser("case")
    case.add_argument("folder", type=Path)
    case.add_argument("--family", choices=list(MODELS), default="sd3")
    case.add_argument("--form", choices=["peft", "diffusers", "alphas"], default="peft")
    case.add_argument("--ranks", choices=list(RANKS), default="one")
    case.add_argument("--seed", type=int, default=20)
    mixed = commands.add_parser("ranks")
    mixed.add_argument("folder", type=Path)
    mixed.add_argument("case", type=Path)
    mixed.add_argument("--seed", type=int, default=21)
    check = commands.add_parser("compare")
    check.add_argument("case", type=Path)
    check.add_argument("ours", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.command == "case":
        make_case(arguments.folder, arguments.family, arguments.form, arguments.ranks, arguments.seed)
        return 0
    if arguments.command == "ranks":
        make_ranks(arguments.folder, arguments.case, arguments.seed)
        return 0
    return compare(arguments.case, arguments.ours)


if __name__ == "__main__":
    sys.exit(main())
