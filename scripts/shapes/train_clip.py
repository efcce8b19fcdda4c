#!/usr/bin/env python3
"""Trains the colour classifier of the embedded shapes: a small CLIPModel on crops of renderings.

    render-shapes scenes 60000 1 train; render-shapes scenes 2000 2 held
    train_clip.py --train train --held held --out clip

Crops are those of GenEval's colour question: an object on #999, cropped to its box.
"""

import argparse
import csv
import json
import pathlib
import platform
import sys
import time

import numpy
import torch
import torch.nn.functional as F
import transformers
from PIL import Image
from transformers import CLIPModel, CLIPConfig, CLIPTokenizer

import judge

SIZE = 32
MEAN, STD = [0.5, 0.5, 0.5], [0.25, 0.25, 0.25]
TEMPLATES = ["a photo of a {c} {k}", "a photo of a {c}-colored {k}", "a photo of a {c} object"]
LENGTH = 16
PREPROCESSOR = {
    "crop_size": {"height": SIZE, "width": SIZE},
    "do_center_crop": True,
    "do_convert_rgb": True,
    "do_normalize": True,
    "do_rescale": True,
    "do_resize": True,
    "image_mean": MEAN,
    "image_processor_type": "CLIPImageProcessor",
    "image_std": STD,
    "resample": 3,
    "rescale_factor": 1 / 255,
    "size": {"shortest_edge": SIZE},
}


def byte_letters():
    """CLIP's letters for the 256 bytes."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {b: chr(b) for b in kept}
    for b in range(256):
        letters.setdefault(b, chr(256 + len(letters) - len(kept)))
    return [letters[b] for b in kept] + [letters[b] for b in range(256) if b not in kept]


def write_tokenizer(out):
    """vocab.json and merges.txt in which each word of the grammar is one token."""
    words = "a an of and left right above below two three four photo picture drawing image object colored".split()
    words += judge.COLOURS + judge.CLASSES + [name + ("es" if name.endswith("s") else "s") for name in judge.CLASSES]
    letters = byte_letters()
    tokens, merges = letters + [letter + "</w>" for letter in letters], []
    for word in words:
        parts = [*word[:-1], word[-1] + "</w>"]
        while len(parts) > 1:
            # Merges made so far apply first, in their order, as the tokenizer applies them.
            pairs = list(zip(parts, parts[1:]))
            known = [merge for merge in merges if merge in pairs]
            pair = known[0] if known else pairs[0]
            if not known:
                merges.append(pair)
                tokens.append("".join(pair))
            joined, i = [], 0
            while i < len(parts):
                if i + 1 < len(parts) and (parts[i], parts[i + 1]) == pair:
                    joined.append(parts[i] + parts[i + 1])
                    i += 2
                else:
                    joined.append(parts[i])
                    i += 1
            parts = joined
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    vocabulary = {token: i for i, token in enumerate(dict.fromkeys(tokens))}
    start, end = vocabulary["<|startoftext|>"], vocabulary["<|endoftext|>"]
    (out / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False))
    (out / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))
    special = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
    config = {
        "add_prefix_space": False,
        "added_tokens_decoder": {
            str(start): {"content": "<|startoftext|>", **special},
            str(end): {"content": "<|endoftext|>", **special},
        },
        "bos_token": "<|startoftext|>",
        "do_lower_case": True,
        "eos_token": "<|endoftext|>",
        "errors": "replace",
        "model_max_length": LENGTH,
        "pad_token": "<|endoftext|>",
        "tokenizer_class": "CLIPTokenizer",
        "unk_token": "<|endoftext|>",
    }
    (out / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
    tokenizer = CLIPTokenizer.from_pretrained(out)
    for word in words:
        ids = tokenizer(word).input_ids
        assert ids == [start, vocabulary[word + "</w>"], end], (word, ids)
    return tokenizer, len(vocabulary), start, end


def configuration(tokens, start, end):
    side = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "num_hidden_layers": 2}
    side |= {"hidden_act": "quick_gelu", "projection_dim": 64}
    text = {"vocab_size": tokens, "max_position_embeddings": LENGTH, "eos_token_id": end, "bos_token_id": start}
    return CLIPConfig(
        text_config=side | text | {"pad_token_id": end},
        vision_config=side | {"image_size": SIZE, "patch_size": 8, "num_channels": 3},
        projection_dim=64,
    )


def shifted(mask, random):
    """The mask a pixel smaller, larger or as it is: as a detector's may be."""
    how = random.integers(0, 4)
    if how < 2:
        return mask
    padded = numpy.pad(mask, 1)
    near = [padded[1:-1, 1:-1], padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]]
    other = numpy.logical_or.reduce(near) if how == 2 else numpy.logical_and.reduce(near)
    return other if other.sum() > 8 else mask


def crop(image, mask):
    """uint8 [32,32,3]: the object on #999, cropped to its box, the shorter side to 32, the middle."""
    rows, columns = mask.any(1).nonzero()[0], mask.any(0).nonzero()[0]
    shown = numpy.where(mask[..., None], image, 153).astype(numpy.uint8)
    shown = Image.fromarray(shown[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1])
    scale = SIZE / min(shown.size)
    shown = shown.resize([max(SIZE, int(side * scale)) for side in shown.size], Image.BICUBIC)
    left, top = (shown.width - SIZE) // 2, (shown.height - SIZE) // 2
    return numpy.asarray(shown.crop((left, top, left + SIZE, top + SIZE)))


def crops(pictures, count, random):
    images, labels, colours = [], [], []
    for i in range(len(pictures)):
        for label, colour, mask in zip(*pictures.objects(i, 24)):
            images.append(crop(pictures.images[i], shifted(mask, random)))
            labels.append(label)
            colours.append(colour)
        if len(images) >= count:
            break
    return numpy.stack(images[:count]), numpy.array(labels[:count]), numpy.array(colours[:count])


def changed(images, random):
    """Other light and blots, as in generated images."""
    count = len(images)

    def drawn(low, high):
        return low + (high - low) * torch.rand(count, 1, 1, 1, generator=random)

    blots = F.interpolate(torch.randn(count, 3, 8, 8, generator=random), (SIZE, SIZE), mode="bicubic")
    images = (images - 128) * drawn(0.9, 1.05) + 128 + drawn(-10, 10) + blots.permute(0, 2, 3, 1) * drawn(0, 1).pow(2) * 14
    return images.clamp(0, 255)


def pixel_values(images):
    x = images.permute(0, 3, 1, 2).float() / 255
    return (x - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(3, 1, 1)


def features(out):
    """Of transformers 4 and 5."""
    return out if torch.is_tensor(out) else out.pooler_output


def normal(x):
    return x / x.norm(dim=-1, keepdim=True)


@torch.no_grad()
def colour_accuracy(model, tokenizer, images, labels, colours):
    """By colour and in all: argmax of the mean text vectors of the templates."""
    vectors = {}
    for k, name in enumerate(judge.CLASSES):
        texts = [t.format(c=c, k=name) for c in judge.COLOURS for t in TEMPLATES]
        ids = tokenizer(texts, padding="max_length", max_length=LENGTH, return_tensors="pt").input_ids
        of_templates = normal(features(model.get_text_features(input_ids=ids))).view(len(judge.COLOURS), len(TEMPLATES), -1)
        vectors[k] = normal(of_templates.mean(1))
    shown = torch.cat([normal(features(model.get_image_features(pixel_values=pixel_values(part)))) for part in torch.from_numpy(images).split(500)])
    found = numpy.array([(vectors[int(k)] @ x).argmax().item() for k, x in zip(labels, shown)])
    by = {c: round(float((found[colours == i] == i).mean()), 4) for i, c in enumerate(judge.COLOURS)}
    return round(float((found == colours).mean()), 4), by


def main():
    parser = argparse.ArgumentParser()
    for name in ("train", "held", "out"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rate", type=float, default=2e-3)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    tokenizer, tokens, start, end = write_tokenizer(out)
    model = CLIPModel(configuration(tokens, start, end))
    random, numbers = torch.Generator().manual_seed(args.seed), numpy.random.default_rng(args.seed)
    begun = time.time()
    images, labels, colours = crops(judge.Pictures(args.train), 24000, numbers)
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(images)} crops", flush=True)
    texts = [t.format(c=c, k=k) for t in TEMPLATES for c in judge.COLOURS for k in judge.CLASSES]
    all_ids = tokenizer(texts, padding="max_length", max_length=LENGTH, return_tensors="pt").input_ids
    optimiser = torch.optim.AdamW(model.parameters(), lr=args.rate, weight_decay=0.05, betas=(0.9, 0.98))
    losses = []
    with open(out / "curve.csv", "w", newline="") as file:
        curve = csv.writer(file)
        curve.writerow(["step", "loss"])
        for step in range(1, args.steps + 1):
            done = step / args.steps
            for group in optimiser.param_groups:
                group["lr"] = args.rate * min(1, done / 0.05) * (1.02 - done)
            chosen = torch.randint(len(images), (args.batch,), generator=random).numpy()
            template = int(torch.randint(3, (1,), generator=random))
            pixels = pixel_values(changed(torch.from_numpy(images[chosen]).float(), random))
            # Every text of a template is among the choices, once.
            choices = [i for i in range(template * 80, template * 80 + 80) if template < 2 or i % 8 == 0]
            text = normal(features(model.get_text_features(input_ids=all_ids[choices])))
            image = normal(features(model.get_image_features(pixel_values=pixels)))
            logits = model.logit_scale.exp().clamp(max=100) * image @ text.T
            label, colour = torch.from_numpy(labels[chosen]), torch.from_numpy(colours[chosen])
            right = colour if template == 2 else colour * 8 + label
            loss = F.cross_entropy(logits, right)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            losses.append(loss.item())
            if step % 50 == 0:
                curve.writerow([step, round(sum(losses) / len(losses), 5)])
                print(f"step {step} of {args.steps}: loss {sum(losses) / len(losses):.4f}", flush=True)
                losses = []
    seconds = time.time() - begun
    with torch.no_grad():
        model.logit_scale.clamp_(max=numpy.log(100))
    model = model.eval().half().float()  # what is measured is what is stored
    held = crops(judge.Pictures(args.held), 6000, numpy.random.default_rng(args.seed + 1))
    accuracy, by = colour_accuracy(model, tokenizer, *held)
    model.half().save_pretrained(out)
    (out / "preprocessor_config.json").write_text(json.dumps(PREPROCESSOR, indent=2) + "\n")
    facts = {
        "command": f"train_clip.py --seed {args.seed} --steps {args.steps} --batch {args.batch} --rate {args.rate}",
        "seed": args.seed,
        "steps": args.steps,
        "seconds": round(seconds),
        "parameters": sum(p.numel() for p in model.parameters()),
        "versions": {"python": platform.python_version(), "torch": torch.__version__.split("+")[0], "transformers": transformers.__version__, "numpy": numpy.__version__},
        "held_out": {"crops": len(held[0]), "colour_accuracy": accuracy, "by_colour": by},
    }
    (out / "train.json").write_text(json.dumps(facts, indent=2) + "\n")
    print(json.dumps(facts["held_out"]))


if __name__ == "__main__":
    sys.exit(main())
