#!/usr/bin/env python3
"""How much of a low-rank update a layer in bfloat16 or float16 shows: adapter_rounding.py (needs torch, runs on the CPU).

A layer of 1536 x 1536 (weights of standard deviation 0.025, inputs of 1), rank 32 (A of 1/32, scale 2, B of the size that AdamW gives it after a step or
more), for three ways to add up. "error" is |shown - true| / |true| of the update's part of the output, "share" the part of it that is shown on average.
"""
import torch

WIDTH, RANK, SCALE, ROWS = 1536, 32, 2, 512


def shown(kind, size, bias_size):
    def rounded(t):
        return t.to(kind).float()

    torch.manual_seed(0)
    w, a, b = (rounded(t) for t in (torch.randn(WIDTH, WIDTH) * 0.025, torch.randn(RANK, WIDTH) / RANK, torch.randn(WIDTH, RANK) * size))
    x, bias = rounded(torch.randn(ROWS, WIDTH)), rounded(torch.randn(WIDTH) * bias_size)
    update, product = SCALE * rounded(x @ a.T) @ b.T, x @ w.T
    base = rounded(product + bias)
    return update, base, {
        "added to the rounded output (as here)": rounded(base + update) - base,
        "rounded once with it": rounded(rounded(update) + product + bias) - base,
        "merged into the weights": rounded(x @ rounded(w + SCALE * b @ a).T + bias) - base,
    }


for kind in (torch.bfloat16, torch.float16):
    for size in (3e-5, 3e-4, 3e-3):
        update, base, ways = shown(kind, size, 0.3)
        print(f"{str(kind)[6:]}, B {size:g}: update {100 * (update.norm() / base.norm()).item():.2f} % of the output")
        for way, seen in ways.items():
            error = ((seen - update).norm() / update.norm()).item()
            share = ((seen * update).sum() / update.square().sum()).item()
            print(f"    {way:40} error {100 * error:6.1f} %   share {100 * share:6.1f} %")
