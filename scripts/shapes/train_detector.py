#!/usr/bin/env python3
"""Trains the detector of the embedded shapes: a small Mask2Former on renderings (embedded/pictures/shapes_scene.h).

    render-shapes scenes 20000 11 crowd 0.3 14
    render-shapes scenes 60000 1 train; render-shapes scenes 2000 2 held
    render-shapes records datasets/prompts/geneval-shapes.jsonl 4 3 records
    train_detector.py --crowd crowd --train train --held held --records records --out detector
"""

import argparse
import json
import math
import pathlib
import platform
import sys
import time

import numpy
import torch
import torch.nn.functional as F
import transformers
from transformers import Mask2FormerConfig, Mask2FormerForUniversalSegmentation, SwinConfig

import judge

SIZE = 128  # of the network's input
MEAN, STD = [140.0, 138.0, 138.0], [60.0, 60.0, 60.0]
LEAST_PIXELS = 12  # of an object that counts


def configuration(args):
    backbone = SwinConfig(
        image_size=SIZE,
        patch_size=4,
        embed_dim=args.embed,
        depths=args.depths,
        num_heads=[1, 2, 4, 8],
        window_size=4,
        mlp_ratio=2.0,
        drop_path_rate=0.0,
        out_features=["stage1", "stage2", "stage3", "stage4"],
    )
    names = dict(enumerate(judge.CLASSES))
    return Mask2FormerConfig(
        backbone_config=backbone,
        feature_size=64,
        mask_feature_size=64,
        hidden_dim=64,
        encoder_layers=args.encoder,
        encoder_feedforward_dim=128,
        decoder_layers=args.decoder + 1,
        dim_feedforward=128,
        num_attention_heads=4,
        num_queries=16,
        dropout=0.0,
        train_num_points=args.points,
        no_object_weight=0.3,
        id2label=names,
        label2id={name: i for i, name in names.items()},
        use_auxiliary_loss=True,
    )


PREPROCESSOR = {
    "image_processor_type": "MMDetectionImageProcessor",
    "size": {"shortest_edge": SIZE, "longest_edge": SIZE},
    "resample": "opencv_bilinear",
    "rescale_factor": 1,
    "size_divisor": 32,
    "pad_value": 128.0,
    "image_mean": MEAN,
    "image_std": STD,
}


def pixel_values(images, rounded=True):
    """images [B,64,64,3], 0..255 -> [B,3,128,128]."""
    x = images.permute(0, 3, 1, 2).float()
    x = F.interpolate(x, (SIZE, SIZE), mode="bilinear", align_corners=False)
    if rounded:
        x = x.round()
    return (x - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(3, 1, 1)


def changed(images, random):
    """What generated images may be like: colours exchanged, other light, blurred, blotted, mirrored."""
    images = images[..., torch.randperm(3, generator=random)].float()
    count = len(images)

    def drawn(low, high):
        return low + (high - low) * torch.rand(count, 1, 1, 1, generator=random)

    images = (images - 128) * drawn(0.85, 1.1) + 128 + drawn(-15, 15)
    coarse = torch.randn(count, 3, 16, 16, generator=random)
    blots = F.interpolate(coarse, (64, 64), mode="bicubic").permute(0, 2, 3, 1)
    images = images + blots * drawn(0, 1).pow(2) * 14
    side = drawn(-0.3, 0.5).clamp(min=0) / 2
    for axis in (1, 2):
        images = (1 - 2 * side) * images + side * (images.roll(1, axis) + images.roll(-1, axis))
    return images.clamp(0, 255)


def batch_of(pictures, chosen, random):
    images = changed(torch.from_numpy(numpy.array(pictures.images[chosen])), random)
    mirrored = torch.rand(1, generator=random).item() < 0.5
    labels, masks = [], []
    for i in chosen:
        label, _, mask = pictures.objects(i, LEAST_PIXELS)
        mask = torch.from_numpy(mask).float()
        labels.append(torch.tensor(label, dtype=torch.int64))
        masks.append(mask.flip(2) if mirrored else mask)
    return pixel_values(images.flip(2) if mirrored else images, rounded=False), masks, labels


class DenseHeads(torch.nn.Module):
    """Of training alone: at every place of some maps, which class is there and where its centre is.

    Without them the network takes many times as long to tell classes.
    """

    def __init__(self, widths):
        super().__init__()
        self.heads = torch.nn.ModuleList(torch.nn.Conv2d(width, len(judge.CLASSES) + 3, 1) for width in widths)

    def loss(self, maps, masks, labels):
        """And the share of the objects' places whose class is right."""
        classes = torch.zeros(len(masks), judge.SIDE, judge.SIDE, dtype=torch.int64)
        offsets = torch.zeros(len(masks), 2, judge.SIDE, judge.SIDE)
        places = torch.arange(judge.SIDE) + 0.5
        for i, (of_picture, label) in enumerate(zip(masks, labels)):
            for mask, kind in zip(of_picture.bool(), label):
                classes[i][mask] = kind + 1
                rows, columns = mask.nonzero(as_tuple=True)
                offsets[i, 0][mask] = (places[rows].mean() - places[rows]) / 8
                offsets[i, 1][mask] = (places[columns].mean() - places[columns]) / 8
        total, right = 0, 0
        for head, features in zip(self.heads, maps):
            step = judge.SIDE // features.shape[-1]
            at = (..., slice(step // 2, None, step), slice(step // 2, None, step))
            out = head(features)
            split = len(judge.CLASSES) + 1
            weights = torch.ones(split)
            weights[0] = 0.2
            total = total + F.cross_entropy(out[:, :split], classes[at], weights)
            inside = (classes[at] > 0).unsqueeze(1)
            total = total + ((out[:, split:] - offsets[at]).abs() * inside).sum() / (2 * inside.sum() + 1)
            hits = (out[:, 1:split].argmax(1) + 1 == classes[at]) & inside[:, 0]
            right = right + hits.sum().item() / max(inside.sum().item(), 1) / len(self.heads)
        return total, right


def rate(done, peak):
    warm = min(1, done / 0.03 + 0.01)
    return peak * warm * (0.51 + 0.49 * math.cos(math.pi * done))


class Stage:
    """Steps of AdamW with a warm-up and a cosine, and their lines of curve.csv."""

    def __init__(self, name, parameters, steps, peak, batch, pictures, random, curve, slow=(), begin=2 / 3):
        """slow: parameters that learn at a tenth of the rate, after the share `begin` of the steps."""
        self.begin = begin
        self.name, self.parameters, self.steps, self.peak, self.batch = name, [*parameters, *slow], steps, peak, batch
        self.pictures, self.random, self.curve, self.slow = pictures, random, curve, slow
        groups = [{"params": parameters, "share": 1}] + ([{"params": slow, "share": 0.1}] if slow else [])
        self.optimiser = torch.optim.AdamW(groups, lr=peak, weight_decay=0.02, betas=(0.9, 0.99))

    def run(self, loss_of, after=lambda step: None):
        start, sums, rights, order = time.time(), [], [], []
        for step in range(1, self.steps + 1):
            if len(order) < self.batch:
                order = torch.randperm(len(self.pictures), generator=self.random).tolist()
            chosen, order = order[: self.batch], order[self.batch :]
            for group in self.optimiser.param_groups:
                group["lr"] = rate((step - 1) / self.steps, self.peak) * group["share"]
            for p in self.slow:
                p.requires_grad_(step > self.steps * self.begin)
            loss, right = loss_of(*batch_of(self.pictures, chosen, self.random))
            self.optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.parameters, 2.0)
            self.optimiser.step()
            after(step)
            sums.append(loss.item())
            rights.append(right)
            if step % 50 == 0 or step == self.steps:
                speed = step * self.batch / (time.time() - start)
                loss, right = sum(sums) / len(sums), sum(rights) / len(rights)
                self.curve.write(f"{self.name},{step},{loss:.4f},{right:.4f}\n")
                self.curve.flush()
                print(f"{self.name} {step} of {self.steps}: loss {loss:.3f}, {right:.3f} of places right, {speed:.1f} images/s", flush=True)
                sums, rights = [], []


def train(args, model, out):
    random = torch.Generator().manual_seed(args.seed)
    start = time.time()
    level = model.model.pixel_level_module
    with open(out / "curve.csv", "w") as curve:
        curve.write("stage,step,loss,places_right\n" if not args.start else (pathlib.Path(args.start).parent / "curve.csv").read_text())

        # As others begin with a backbone from ImageNet.
        dense = DenseHeads([2 * args.embed, 4 * args.embed])
        parameters = [*level.encoder.parameters(), *dense.parameters()]
        stage = Stage("backbone", parameters, args.backbone_steps, args.backbone_rate, args.batch, judge.Pictures(args.crowd), random, curve)

        def of_backbone(pixels, masks, labels):
            return dense.loss(level.encoder(pixels).feature_maps[1:3], masks, labels)

        if args.backbone:  # of an earlier run, which goes on as that would have
            earlier = pathlib.Path(args.backbone)
            model.load_state_dict(torch.load(earlier / "backbone.pt"))
            seconds = float((earlier / "backbone.seconds").read_text())
            curve.writelines(line for line in open(earlier / "curve.csv") if line.startswith("backbone"))
        elif args.start:
            seconds = 0
            load_average(model, args.start)
        else:
            stage.run(of_backbone)
            seconds = time.time() - start
            torch.save(model.state_dict(), out / "backbone.pt")
            (out / "backbone.seconds").write_text(str(seconds))

        # What the backbone knows is soon forgotten where it learns as fast as the rest.
        torch.manual_seed(args.seed + 1)
        random.manual_seed(args.seed + 1)
        start = time.time()
        heads = DenseHeads([model.config.feature_size] * 2)
        slow = list(level.encoder.parameters())
        known = {id(p) for p in slow}
        parameters = [p for p in model.parameters() if id(p) not in known]
        followed = parameters + slow
        maps, average = [], [p.detach().clone() for p in followed]
        hook = level.decoder.register_forward_hook(lambda _, __, made: maps.extend([made.multi_scale_features[-1], made.mask_features]))
        learning = parameters + list(heads.parameters())
        begin = 0 if args.start else 2 / 3
        stage = Stage("detector again" if args.start else "detector", learning, args.steps, args.rate, args.batch, judge.Pictures(args.train), random, curve, slow, begin)

        def of_detector(pixels, masks, labels):
            maps.clear()
            loss = model(pixel_values=pixels, mask_labels=masks, class_labels=labels).loss
            extra, right = heads.loss(maps, masks, labels)
            return loss + extra, right

        names = {id(p): name for name, p in model.named_parameters()}
        names = [names[id(p)] for p in followed]

        @torch.no_grad()
        def follow(step):
            torch._foreach_lerp_(average, followed, 1 - min(0.995, step / (step + 10)))
            if step % 200 == 0:
                torch.save({"model": model.state_dict(), "average": dict(zip(names, average))}, out / "state.pt")

        stage.run(of_detector, follow)
        hook.remove()
    with torch.no_grad():
        for p, mean in zip(followed, average):
            p.copy_(mean)
    return seconds + time.time() - start


@torch.no_grad()
def predictions(model, images):
    classes, masks = [], []
    for part in torch.from_numpy(numpy.array(images)).split(50):
        out = model(pixel_values=pixel_values(part))
        classes.append(out.class_queries_logits)
        masks.append(out.masks_queries_logits)
    return torch.cat(classes), torch.cat(masks)


def overlap(a, b):
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    common = max(wide, 0) * max(high, 0)
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common + 1e-9)


def average_precision(truth, found, label, limit):
    """Of boxes, over all recalls; truth and found: lists by picture."""
    total = sum(len([t for t in picture if t["label"] == label]) for picture in truth)
    pairs = [(item["score"], i, item["box"]) for i, items in enumerate(found) for item in items if item["label"] == label]
    used, hits = set(), []
    for _, i, box in sorted(pairs, key=lambda pair: -pair[0]):
        best = max(
            ((overlap(box, t["box"]), (i, j)) for j, t in enumerate(truth[i]) if t["label"] == label and (i, j) not in used),
            default=(0, None),
        )
        hits.append(best[0] >= limit)
        if hits[-1]:
            used.add(best[1])
    hits = numpy.cumsum(hits) if hits else numpy.zeros(0)
    precision = hits / (numpy.arange(len(hits)) + 1)
    precision = numpy.maximum.accumulate(precision[::-1])[::-1]
    recall = hits / max(total, 1)
    return sum(precision[numpy.searchsorted(recall, r)] if len(recall) and recall[-1] >= r else 0 for r in numpy.linspace(0, 1, 101)) / 101


def measure_scenes(model, pictures):
    classes, masks = predictions(model, pictures.images)
    truth, found = [], []
    right_scores, other_scores, missed = [], [], 0
    for i in range(len(pictures)):
        labels, _, owned = pictures.objects(i, LEAST_PIXELS)
        truth.append([{"label": l, "box": judge.box_of(torch.from_numpy(m))} for l, m in zip(labels, owned)])
        found.append(judge.detected(classes[i], masks[i], SIZE, least=0.05))
        left = list(truth[-1])
        for item in found[-1]:
            matching = [t for t in left if t["label"] == item["label"] and overlap(item["box"], t["box"]) > 0.5]
            if matching:
                left.remove(matching[0])
                right_scores.append(item["score"])
            else:
                other_scores.append(item["score"])
        missed += len(left)
    limits = numpy.arange(0.5, 1, 0.05)
    by_limit = {round(float(l), 2): numpy.mean([average_precision(truth, found, c, l) for c in range(8)]) for l in limits}
    total = sum(map(len, truth))
    return {
        "pictures": len(pictures),
        "objects": total,
        "box_ap": round(float(numpy.mean(list(by_limit.values()))), 4),
        "box_ap50": round(float(by_limit[0.5]), 4),
        "box_ap75": round(float(by_limit[0.75]), 4),
        "objects_above_0.3": round(sum(s > 0.3 for s in right_scores) / total, 4),
        "objects_above_0.9": round(sum(s > 0.9 for s in right_scores) / total, 4),
        "others_above_0.3_a_picture": round(sum(s > 0.3 for s in other_scores) / len(pictures), 4),
        "others_above_0.9_a_picture": round(sum(s > 0.9 for s in other_scores) / len(pictures), 4),
    }


def true_colour(pictures, i):
    """The colour of the drawn object that a detected one covers most."""
    _, colours, owned = pictures.objects(i)

    def colour_of(item, _):
        mask = item["mask"].numpy()
        return judge.COLOURS[colours[int(numpy.argmax([(m & mask).sum() for m in owned]))]]

    return colour_of


def perfect(pictures, i):
    labels, _, owned = pictures.objects(i)
    masks = [torch.from_numpy(m) for m in owned]
    return [{"label": l, "score": 1.0, "box": judge.box_of(m), "mask": m} for l, m in zip(labels, masks)]


def measure_records(model, pictures):
    """By tag: how often a picture that meets its record is judged right, and one that does not is."""
    classes, masks = predictions(model, pictures.images)
    counts = {tag: {"right": [0, 0], "wrong": [0, 0]} for tag in judge.TAGS}
    for i, scene in enumerate(pictures.scenes):
        record, colour_of = scene["record"], true_colour(pictures, i)
        meets = judge.judge(record, perfect(pictures, i), colour_of)
        judged = judge.judge(record, judge.detected(classes[i], masks[i], SIZE), colour_of)
        count = counts[record["tag"]]["right" if meets else "wrong"]
        count[0] += judged
        count[1] += 1
    return {
        tag: {
            "right_judged_right": round(c["right"][0] / max(c["right"][1], 1), 4),
            "right_pictures": c["right"][1],
            "wrong_judged_right": round(c["wrong"][0] / max(c["wrong"][1], 1), 4),
            "wrong_pictures": c["wrong"][1],
        }
        for tag, c in counts.items()
    }


@torch.no_grad()
def load_average(model, file):
    state = torch.load(file)
    model.load_state_dict(state["model"])
    for name, p in model.named_parameters():
        p.copy_(state["average"][name])


@torch.no_grad()
def sharpen(model, masks, classes):
    """Scales logits: what is where does not change, how sure the model is of it does."""
    embedder = model.model.transformer_module.decoder.mask_predictor.mask_embedder
    for p in getattr(embedder, "2").parameters():
        p.mul_(masks)
    for p in model.class_predictor.parameters():
        p.mul_(classes)


def save(model, args, out, seconds, held_out):
    model = model.half()
    model.config.dtype = torch.float16
    model.save_pretrained(out, safe_serialization=True)
    (out / "preprocessor_config.json").write_text(json.dumps(PREPROCESSOR, indent=2) + "\n")
    facts = {
        "command": "train_detector.py " + " ".join(f"--{k.replace('_', '-')} {v}" for k, v in shown(args)),
        "seed": args.seed,
        "steps": {"backbone": args.backbone_steps, "detector": args.steps},
        "batch": args.batch,
        "seconds": round(seconds),
        "sharpening": {"masks": args.sharpen, "classes": args.sharpen_classes},
        "parameters": sum(p.numel() for p in model.parameters()),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__.split("+")[0],
            "transformers": transformers.__version__,
            "numpy": numpy.__version__,
        },
        "held_out": held_out,
    }
    if args.start:
        earlier = json.loads((pathlib.Path(args.start).parent / "train.json").read_text())
        facts["steps"] = {"detector": args.steps}
        facts["began_with"] = {key: earlier[key] for key in ("command", "seed", "steps", "seconds")}
    (out / "train.json").write_text(json.dumps(facts, indent=2) + "\n")


def shown(args):
    return [(k, " ".join(map(str, v)) if isinstance(v, list) else v) for k, v in vars(args).items() if k not in ("train", "held", "records", "out", "crowd", "resume", "backbone", "start")]


def main():
    parser = argparse.ArgumentParser()
    for name in ("crowd", "train", "held", "records", "out"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=6500)
    parser.add_argument("--backbone-steps", type=int, default=4000)
    parser.add_argument("--backbone-rate", type=float, default=1.2e-3)
    parser.add_argument("--backbone", help="folder of an earlier run whose backbone is taken")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, default=7e-4)
    parser.add_argument("--embed", type=int, default=32)
    parser.add_argument("--depths", type=int, nargs=4, default=[2, 2, 2, 1])
    parser.add_argument("--encoder", type=int, default=1)
    parser.add_argument("--decoder", type=int, default=3)
    parser.add_argument("--points", type=int, default=384)
    parser.add_argument("--start", help="state.pt of an earlier run whose averaged weights the detector's stage begins with")
    parser.add_argument("--sharpen", type=float, default=4.0)
    parser.add_argument("--sharpen-classes", type=float, default=3.0)
    parser.add_argument("--resume", help="state.pt whose averaged weights are measured and saved, without training")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    model = Mask2FormerForUniversalSegmentation(configuration(args))
    print(f"{sum(p.numel() for p in model.parameters())} parameters", flush=True)
    seconds = 0
    if args.resume:
        load_average(model, args.resume)
    else:
        seconds = train(args, model, out)
    model.eval()
    sharpen(model, args.sharpen, args.sharpen_classes)
    # What is measured is what is stored: float16.
    model = model.half().float()
    held_out = {
        "scenes": measure_scenes(model, judge.Pictures(args.held)),
        "records": measure_records(model, judge.Pictures(args.records)),
    }
    print(json.dumps(held_out, indent=1))
    save(model, args, out, seconds, held_out)


if __name__ == "__main__":
    sys.exit(main())
