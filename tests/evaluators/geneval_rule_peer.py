#!/usr/bin/env python3
"""GenEval's rule written a second time, from its description, and parity cases of it on random records.

    geneval_rule_peer.py OUT [--seed N] [--records N]     OUT/case.json, for `harness parity OUT`

Nothing here is taken from evaluators/geneval/rule.cpp. Records are of all six tags; detections are drawn near what a
record asks for, so that every kind of verdict occurs.
"""

import argparse
import json
import math
import random
from pathlib import Path

CLASSES = ["person", "bicycle", "car", "dog", "cat", "bench", "kite", "apple", "fire hydrant", "sports ball", "computer mouse",
           "tv remote", "hot dog", "teddy bear", "hair drier", "bus"]  # fmt: skip
COLOURS = "red orange yellow green blue purple pink brown black white".split()
RELATIONS = ["left of", "right of", "above", "below"]
TAGS = ["single_object", "two_object", "counting", "colors", "position", "color_attr"]
LEAST, LEAST_TO_COUNT, MOST, OVERLAP = 0.3, 0.9, 16, 0.1


def draw_record(draw, tag):
    a, b = draw.sample(CLASSES, 2)
    one = lambda name, **more: {"class": name, "count": 1, **more}
    if tag == "single_object":
        return [one(a)], []
    if tag == "two_object":
        return [one(a), one(b)], []
    if tag == "counting":
        n = draw.randint(2, 4)
        return [{"class": a, "count": n}], [{"class": a, "count": n + 1}]
    if tag == "colors":
        return [one(a, color=draw.choice(COLOURS))], []
    if tag == "position":
        return [one(a), one(b, position=[draw.choice(RELATIONS), 0])], []
    first, second = draw.sample(COLOURS, 2)
    return [one(a, color=first), one(b, color=second)], []


def draw_box(draw, centre=None):
    """Whole pixels of a picture of 512; sometimes exactly beside, above or at `centre`."""
    w, h = draw.randint(8, 200), draw.randint(8, 200)
    x, y = draw.randint(100, 412), draw.randint(100, 412)
    if centre is not None:
        kind, (cx, cy) = draw.random(), centre
        if kind < 0.35:
            x, y = cx + draw.choice([-1, 1]) * draw.randint(0, 250), cy + draw.randint(-30, 30)
        elif kind < 0.7:
            x, y = cx + draw.randint(-30, 30), cy + draw.choice([-1, 1]) * draw.randint(0, 250)
        elif kind < 0.8:
            x, y = cx, cy
    return [x - w // 2, y - h // 2, x - w // 2 + w, y - h // 2 + h]


def draw_detections(draw, include, scores):
    found, centre = {}, None
    wanted = list(include) + ([{"class": draw.choice(CLASSES), "count": 1}] if draw.random() < 0.3 else [])
    for clause in wanted:
        name, asked = clause["class"], clause["count"]
        roll = draw.random()
        count = asked if roll < 0.6 else draw.randint(0, asked + 3) if roll < 0.95 else draw.randint(15, 20)
        colours = clause.get("color")
        for _ in range(count):
            box = draw_box(draw, centre)
            colour = None
            if colours is not None:
                colour = colours if draw.random() < 0.7 else draw.choice(COLOURS)
            low = draw.random() < 0.25
            found.setdefault(name, []).append({"bbox": box, "score": next(scores["low" if low else "high"]), "color": colour})
        if centre is None and name in found:
            box = found[name][0]["bbox"]
            centre = ((box[0] + box[2]) // 2, (box[1] + box[3]) // 2)
    if any("color" in clause for clause in include):  # an object beyond those asked for has a colour too
        for clause in wanted[len(include) :]:
            for item in found.get(clause["class"], []):
                item["color"] = draw.choice(COLOURS)
    for items in found.values():
        draw.shuffle(items)
    return found


def kept_of(tag, found):
    least = LEAST_TO_COUNT if tag == "counting" else LEAST
    best = {}
    for name, items in found.items():
        above = [item for item in items if item["score"] > least]
        best[name] = sorted(above, key=lambda item: item["score"], reverse=True)[:MOST]
    return best


def relations(a, b):
    """Names of what holds of box a to box b, in alphabetical order."""
    offset, shortened = [], []
    for low, high in ((0, 2), (1, 3)):
        centre = (a[low] + a[high]) / 2 - (b[low] + b[high]) / 2
        slack = OVERLAP * (abs(a[high] - a[low]) + abs(b[high] - b[low]))
        offset.append(centre)
        shortened.append(math.copysign(1, centre) * max(abs(centre) - slack, 0) if centre else 0.0)
    if all(abs(value) < 1e-3 for value in shortened):
        return []
    dx, dy = (value / math.sqrt(offset[0] ** 2 + offset[1] ** 2) for value in shortened)
    holds = {"left of": dx < -0.5, "right of": dx > 0.5, "above": dy < -0.5, "below": dy > 0.5}
    return sorted(name for name, true in holds.items() if true)


def benchmark(include, exclude, kept):
    reasons, groups = [], []
    for clause in include:
        name, asked = clause["class"], clause["count"]
        found, wrong = kept.get(name, [])[:asked], None
        if len(found) < asked:
            wrong = f"expected {name}>={asked}, found {len(found)}"
        elif "color" in clause:
            colours = [item["color"] for item in found]
            right = colours.count(clause["color"])
            if right < asked:
                seen = ", ".join(f"{colours.count(c)} {c}" for c in COLOURS if c in colours)
                wrong = f"expected {clause['color']} {name}>={asked}, found {right} {clause['color']}; and {seen}"
        if wrong is None and "position" in clause:
            relation, index = clause["position"]
            if groups[index] is None:
                wrong = f"no target for {name} to be {relation}"
            else:
                for item in found:
                    for target in groups[index]:
                        true = relations(item["bbox"], target["bbox"])
                        if wrong is None and relation not in true:
                            wrong = f"expected {name} {relation} target, found {' and '.join(true)} target"
        groups.append(found if wrong is None else None)
        if wrong is not None:
            reasons.append(wrong)
    for clause in exclude:
        number = len(kept.get(clause["class"], []))
        if number >= clause["count"]:
            reasons.append(f"expected {clause['class']}<{clause['count']}, found {number}")
    return reasons


def graded(include, kept, twice):
    """Score and strict flag; `twice`: a wrong place adds the terms 0 and 1."""
    terms, strict, groups = [], True, []
    for clause in include:
        found, asked = kept.get(clause["class"], []), clause["count"]
        terms.append(1 - abs(asked - len(found)) / asked)
        right = len(found) == asked
        if not right and ("color" in clause or "position" in clause):
            terms.append(0)
        if right and "color" in clause:
            number = sum(item["color"] == clause["color"] for item in found)
            terms.append(1 - abs(asked - number) / asked)
            right = number == asked
        if right and "position" in clause:
            relation, index = clause["position"]
            if groups[index] is None:
                terms.append(0)
                right = False
            else:
                right = all(relation in relations(a["bbox"], b["bbox"]) for a in found for b in groups[index])
                terms += [1] if right else [0, 1] if twice else [0]
        groups.append(found if right else None)
        strict = strict and right
    return (sum(terms) / len(terms) if terms else 0), strict


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--records", type=int, default=600)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    # No two scores of a case are equal, and none is a threshold.
    pools = {"high": draw.sample(range(9001, 10000), 999), "low": [s for s in draw.sample(range(500, 9000), 8000) if s != 3000]}
    records = []
    for i in range(options.records):
        scores = {name: iter(draw.sample([value / 1e4 for value in pool], 200)) for name, pool in pools.items()}
        tag = TAGS[i % len(TAGS)]
        include, exclude = draw_record(draw, tag)
        found = draw_detections(draw, include, scores)
        kept = kept_of(tag, found)
        reasons = benchmark(include, exclude, kept)
        score, strict = graded(include, kept, True)
        expected = {"correct": not reasons, "reason": "\n".join(reasons), "strict_correct": strict, "score": score,
                    "score_single_position": graded(include, kept, False)[0]}  # fmt: skip
        records.append({"name": f"{tag}-{i}", "tag": tag, "include": include, "exclude": exclude, "detections": found, "expected": expected})
    document = {
        "name": options.out.name, "kind": "geneval_rule",
        "reference": {"library": "tests/evaluators/geneval_rule_peer.py", "class": "geneval_rule", "versions": {}},
        "params": {"threshold": LEAST, "counting_threshold": LEAST_TO_COUNT, "max_objects": MOST, "nms_threshold": 1.0, "position_threshold": OVERLAP},
        "tolerance": {"atol": 1e-12, "rtol": 0}, "records": records,
    }  # fmt: skip
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "case.json").write_text(json.dumps(document, indent=1) + "\n")
    right = sum(record["expected"]["correct"] for record in records)
    print(f"{len(records)} records, {right} correct, {sum(r['expected']['strict_correct'] for r in records)} strictly")


if __name__ == "__main__":
    main()
