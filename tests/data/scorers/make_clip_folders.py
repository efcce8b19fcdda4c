#!/usr/bin/env python3
"""Tiny random CLIP models as the public scorer folders have them, and what transformers makes of them.

    make_clip_folders.py FOLDER      writes FOLDER/{pickscore,clip_score,images} and FOLDER/expected.json

The tokenizer is that of tests/data/parity/tokenizer_clip. expected.json holds a score for each image and prompt: `pickscore` =
exp(logit_scale) cos / 26 and `clip` = cos with the Pillow processor; `flow-grpo` = 100 cos / 30 with the image resized as floats (bilinear,
antialias)."""
import json
import math
import shutil
import sys
from pathlib import Path

import torch
from PIL import Image
from transformers import CLIPConfig, CLIPImageProcessorPil, CLIPModel, CLIPTokenizer

TOKENIZER = Path(__file__).resolve().parents[1] / "parity/tokenizer_clip/model"
PROMPTS = ['a sign reading "OPEN"', "two red cups on a wooden table, soft light", "", "word " * 120]
SIZES = [(96, 48), (64, 64), (45, 120), (40, 40)]


def model_of(activation, seed, heads, edge, vocabulary):
    torch.manual_seed(seed)
    model = CLIPModel(CLIPConfig(
        text_config=dict(vocab_size=vocabulary, hidden_size=8 * heads, intermediate_size=24 * heads, num_attention_heads=heads, num_hidden_layers=2,
                         hidden_act=activation, eos_token_id=2, bos_token_id=0, pad_token_id=1),
        vision_config=dict(hidden_size=8 * heads, intermediate_size=24 * heads, num_attention_heads=heads, num_hidden_layers=2, image_size=edge,
                           patch_size=8, hidden_act=activation),
        projection_dim=20)).eval()  # fmt: skip
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() > 1:
                p.copy_(torch.randn(p.shape) * (0.3 if "embedding" in name else 1.4 / p[0].numel() ** 0.5))
            elif p.dim() == 1:
                p.add_(torch.randn(p.shape) * 0.1)
        model.logit_scale.fill_(4.6)
    return model


def picture(width, height, seed):
    torch.manual_seed(seed)
    y, x = torch.linspace(0, 6, height)[:, None, None], torch.linspace(0, 6, width)[None, :, None]
    base = 130 + 120 * torch.sin(torch.rand(3) * 3 * x + torch.rand(3) * 6) * torch.cos(torch.rand(3) * 3 * y)
    return (base + torch.randn(height, width, 3) * 20).clamp(0, 255).round().to(torch.uint8)


def float_path(pixels, edge, processor):
    """torchvision's Resize, CenterCrop and Normalize on floats."""
    height, width, _ = pixels.shape
    long = int(edge * max(height, width) / min(height, width))
    size = (long, edge) if width <= height else (edge, long)
    image = torch.nn.functional.interpolate((pixels.permute(2, 0, 1) / 255)[None], size, mode="bilinear", antialias=True)[0]
    top, left = round((size[0] - edge) / 2), round((size[1] - edge) / 2)
    image = image[:, top : top + edge, left : left + edge]
    mean, std = (torch.tensor(v)[:, None, None] for v in (processor.image_mean, processor.image_std))
    return (image - mean) / std


@torch.no_grad()
def cosines(model, pixels, ids):
    image, text = model.get_image_features(pixel_values=pixels[None]).pooler_output, model.get_text_features(input_ids=ids[None]).pooler_output
    return torch.nn.functional.cosine_similarity(image, text).item()


def main(folder):
    tokenizer = CLIPTokenizer.from_pretrained(TOKENIZER)
    (folder / "images").mkdir(parents=True, exist_ok=True)
    pictures = [picture(*size, seed) for seed, size in enumerate(SIZES)]
    for i, pixels in enumerate(pictures):
        Image.fromarray(pixels.numpy()).save(folder / f"images/{i}.png")
    models = {}
    for name, activation, seed, heads, edge in [("pickscore", "gelu", 1, 3, 32), ("clip_score", "quick_gelu", 2, 2, 40)]:
        model = model_of(activation, seed, heads, edge, len(tokenizer))
        processor = CLIPImageProcessorPil(size={"shortest_edge": edge}, crop_size=edge)
        model.save_pretrained(folder / name)
        processor.save_pretrained(folder / name)
        for file in TOKENIZER.iterdir():
            shutil.copy(file, folder / name)
        models[name] = (model, processor, edge)
    rows = []
    for i, pixels in enumerate(pictures):
        for prompt in PROMPTS:
            ids = tokenizer(prompt, padding="max_length", truncation=True, max_length=77, return_tensors="pt")["input_ids"][0]
            row = {"image": f"images/{i}.png", "prompt": prompt}
            for name, (model, processor, edge) in models.items():
                small = torch.as_tensor(processor(Image.fromarray(pixels.numpy()), return_tensors="np")["pixel_values"][0])
                cosine = cosines(model, small, ids)
                if name == "pickscore":
                    row["pickscore"] = math.exp(model.logit_scale.item()) * cosine / 26
                else:
                    row["clip"] = cosine
                    row["flow-grpo"] = 100 * cosines(model, float_path(pixels, edge, processor), ids) / 30
            rows.append(row)
    (folder / "expected.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
