#!/usr/bin/env python3
"""transformers in eager mode on what bench-mask2former times: the same folder, image and number of threads.

    mask2former_peer.py make FOLDER                        a Mask2Former with Swin-S (100 queries, 9 layers, 80 classes), random weights, and an image of 512 x 512
    mask2former_peer.py time FOLDER [--threads N]          one JSON line: medians of seconds for one image
    mask2former_peer.py compare FOLDER OURS.safetensors    how far the logits of bench-mask2former --outputs are from transformers'

Pictures go in and objects come out as in mmdetection 2, which scales all of its 100 masks. Pillow's bilinear scaling stands in for OpenCV's.
"""
import argparse
import json
import pathlib
import statistics
import time

import numpy
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch.nn import functional as F
from transformers import Mask2FormerConfig, Mask2FormerForUniversalSegmentation, SwinConfig

MEAN, STD = (numpy.array(x, dtype=numpy.float32) for x in ([123.675, 116.28, 103.53], [58.395, 57.12, 57.375]))
SIDE, SHORT_EDGE, CLASSES, BEST, LEAST = 512, 800, 80, 100, 0.3
PREPROCESSOR = {
    "image_processor_type": "MMDetectionImageProcessor", "size": {"shortest_edge": SHORT_EDGE, "longest_edge": 1333}, "resample": "opencv_bilinear",
    "rescale_factor": 1, "size_divisor": 32, "pad_value": 128, "image_mean": MEAN.tolist(), "image_std": STD.tolist()}  # fmt: skip


def picture():
    """Coarse noise, so that it has areas: uint8 [512,512,3]."""
    noise = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(1))
    smooth = F.interpolate(noise, (SIDE, SIDE), mode="bicubic")[0].permute(1, 2, 0)
    return (128 + 60 * smooth).clamp(0, 255).to(torch.uint8).contiguous()


def pixel_values(image):
    """[1,3,800,800]: the image's sides are a multiple of 32 after scaling."""
    scaled = numpy.asarray(Image.fromarray(image).resize((SHORT_EDGE, SHORT_EDGE), Image.BILINEAR), dtype=numpy.float32)
    return torch.from_numpy(((scaled - MEAN) / STD).transpose(2, 0, 1).copy())[None]


def objects(classes, masks):
    """mmdetection's MaskFormerFusionHead on one image: (scores, labels, boxes, masks) of the best 100 pairs."""
    scores, best = classes.softmax(-1)[:, :-1].flatten().topk(BEST)
    masks = F.interpolate(masks[None], (SHORT_EDGE, SHORT_EDGE), mode="bilinear", align_corners=False)[0]
    masks = F.interpolate(masks[None], (SIDE, SIDE), mode="bilinear", align_corners=False)[0][best // CLASSES]
    inside = masks > 0
    scores = scores * (masks.sigmoid() * inside).flatten(1).sum(1) / (inside.flatten(1).sum(1) + 1e-6)
    boxes = []
    for mask in inside:
        columns, rows = mask.any(0).nonzero(), mask.any(1).nonzero()
        boxes.append([columns[0].item(), rows[0].item(), columns[-1].item() + 1, rows[-1].item() + 1] if len(rows) else [0] * 4)
    return scores, best % CLASSES, boxes, inside


@torch.no_grad()
def make(args):
    torch.manual_seed(1)
    swin = SwinConfig(embed_dim=96, depths=[2, 2, 18, 2], num_heads=[3, 6, 12, 24], window_size=7, out_features=[f"stage{i}" for i in range(1, 5)])
    model = Mask2FormerForUniversalSegmentation(Mask2FormerConfig(backbone_config=swin, num_labels=CLASSES)).eval()
    for name, p in model.named_parameters():
        if name.endswith("relative_position_bias_table") or name.endswith(("sampling_offsets.weight", "attention_weights.weight")):
            p.normal_(std=0.05)
    image = picture()
    classes, masks = logits(model, pixel_values(image.numpy()))
    # About one pair in a thousand reaches GenEval's threshold, and masks cover a third of the image.
    while (classes.softmax(-1)[..., :-1] > LEAST).sum() < CLASSES // 10:
        model.class_predictor.weight.mul_(1.2)
        classes = classes * 1.2
    folder = pathlib.Path(args.folder)
    model.save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(PREPROCESSOR, indent=2) + "\n")
    save_file({"image": image}, folder / "inputs.safetensors")
    print(json.dumps({"parameters": sum(p.numel() for p in model.parameters()), "inside": (masks > 0).float().mean().item()}))


def logits(model, pixels):
    out = model(pixel_values=pixels)
    return out.class_queries_logits, out.masks_queries_logits


def load(folder):
    return Mask2FormerForUniversalSegmentation.from_pretrained(folder).eval(), load_file(pathlib.Path(folder) / "inputs.safetensors")["image"].numpy()


@torch.no_grad()
def timed(args):
    model, image = load(args.folder)
    times = {"pixel_values": [], "forward": [], "objects": []}  # pairs of wall and CPU seconds

    def step(name, action):
        start, cpu = time.perf_counter(), time.process_time()
        result = action()
        times[name].append((time.perf_counter() - start, time.process_time() - cpu))
        return result

    for _ in range(args.repeats + 1):  # the first one warms up
        pixels = step("pixel_values", lambda: pixel_values(image))
        classes, masks = step("forward", lambda: logits(model, pixels))
        step("objects", lambda: objects(classes[0], masks[0]))
    taken = {name: values[1:] for name, values in times.items()}
    taken["image"] = [tuple(map(sum, zip(*parts))) for parts in zip(*taken.values())]
    wall, cpu = ({name: statistics.median(pair[i] for pair in values) for name, values in taken.items()} for i in (0, 1))
    print(json.dumps(wall | {"cpu": cpu}))


@torch.no_grad()
def compare(args):
    model, _ = load(args.folder)
    ours = load_file(args.other)
    for name, theirs in zip(("classes", "masks"), logits(model, ours["pixel_values"])):
        apart = (ours[name] - theirs).abs() / theirs.abs().max()
        print(f"{name}: relative difference: median {apart.median().item():.1e}, largest {apart.max().item():.1e}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("command", choices=["make", "time", "compare"]), p.add_argument("folder"), p.add_argument("other", nargs="?")
    p.add_argument("--threads", type=int, default=2), p.add_argument("--repeats", type=int, default=3)
    args = p.parse_args()
    torch.set_num_threads(args.threads)
    {"make": make, "time": timed, "compare": compare}[args.command](args)


if __name__ == "__main__":
    main()
