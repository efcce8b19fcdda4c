"""GenEval's rule in Python, and pictures into objects and back, for measuring the embedded detector.

The rule is that of evaluators/geneval/rule.h, the objects are those of objects_as_mmdetection in
models/detection/detection_images.h.
"""

import json
import math
import pathlib

import numpy
import torch
import torch.nn.functional as F

SIDE = 64
CLASSES = ["circle", "square", "triangle", "star", "heart", "cross", "ring", "diamond"]
COLOURS = ["red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white"]
TAGS = ["single_object", "two_object", "counting", "colors", "position", "color_attr"]


class Pictures:
    """What render-shapes wrote to a folder."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.images = numpy.memmap(folder / "images.bin", numpy.uint8, "r").reshape(-1, SIDE, SIDE, 3)
        self.owners = numpy.memmap(folder / "owners.bin", numpy.uint8, "r").reshape(-1, SIDE, SIDE)
        self.scenes = [json.loads(line) for line in open(folder / "scenes.jsonl")]

    def __len__(self):
        return len(self.scenes)

    def objects(self, i, least=0):
        """Labels [N], colours [N] and masks [N,64,64] of the objects of which more than `least` pixels are seen."""
        labels, colours, masks = [], [], []
        for item in self.scenes[i]["objects"]:
            mask = self.owners[i] == item["owner"]
            if mask.sum() > least:
                labels.append(item["label"])
                colours.append(item["color"])
                masks.append(mask)
        return labels, colours, numpy.stack(masks) if masks else numpy.zeros((0, SIDE, SIDE), bool)


def detected(classes, masks, size, side=SIDE, least=0.3):
    """Objects of one picture, best first: dicts of label, score, box, mask. classes [Q,L+1], masks [Q,h,w]: logits."""
    known = classes.shape[1] - 1
    flat = classes.softmax(-1)[:, :known].flatten()
    values, order = flat.sort(stable=True, descending=True)
    found = []
    for value, index in zip(values[:100].tolist(), order[:100].tolist()):
        if value <= least:
            break
        logits = masks[index // known][None, None]
        logits = F.interpolate(logits, (size, size), mode="bilinear", align_corners=False)
        logits = F.interpolate(logits, (side, side), mode="bilinear", align_corners=False)[0, 0]
        inside = logits > 0
        mean = (logits.sigmoid() * inside).sum() / (inside.sum() + 1e-6)
        found.append({"label": index % known, "score": value * mean.item(), "box": box_of(inside), "mask": inside})
    return sorted(found, key=lambda item: -item["score"])


def box_of(mask):
    rows, columns = mask.any(1).nonzero().flatten().tolist(), mask.any(0).nonzero().flatten().tolist()
    return [columns[0], rows[0], columns[-1] + 1, rows[-1] + 1] if rows else [0, 0, 0, 0]


def relations(a, b):
    def axis(low, high):
        offset = (a[low] + a[high]) / 2 - (b[low] + b[high]) / 2
        shortened = max(abs(offset) - 0.1 * (abs(a[high] - a[low]) + abs(b[high] - b[low])), 0)
        return offset, math.copysign(shortened, offset)

    (offset_x, x), (offset_y, y) = axis(0, 2), axis(1, 3)
    if abs(x) < 1e-3 and abs(y) < 1e-3:
        return set()
    length = math.hypot(offset_x, offset_y)
    held = {"left of": x / length < -0.5, "right of": x / length > 0.5}
    held |= {"above": y / length < -0.5, "below": y / length > 0.5}
    return {name for name, holds in held.items() if holds}


def judge(record, objects, colour_of):
    """Whether the objects meet the record; colour_of(object, class) names a colour."""
    threshold = 0.9 if record["tag"] == "counting" else 0.3
    kept = {}
    for item in objects:
        if item["score"] > threshold:
            kept.setdefault(CLASSES[item["label"]], []).append(item)
    kept = {name: items[:16] for name, items in kept.items()}
    right, groups = True, []
    for clause in record["include"]:
        found = kept.get(clause["class"], [])[: clause["count"]]
        met = len(found) == clause["count"]
        if met and "color" in clause:
            met = all(colour_of(item, clause["class"]) == clause["color"] for item in found)
        if met and "position" in clause:
            relation, other = clause["position"]
            targets = groups[other]
            met = bool(targets) and all(relation in relations(a["box"], b["box"]) for a in found for b in targets)
        groups.append(found if met else [])
        right = right and met
    for clause in record.get("exclude", []):
        right = right and len(kept.get(clause["class"], [])) < clause["count"]
    return right
