"""Mask2Former as mmdetection 2 computes it, from tensors under its names, and the self check of scripts/convert-mask2former.

Written from the names and mmdetection's conventions, in plain operators of torch and in float64, so that it shares neither code nor rounding
with transformers: fused qkv and the checkpoint's own index of relative positions, windows shifted on a padded grid, patch merging by unfold,
deformable attention by grid_sample, masked attention from low to high resolution. B images; S places, Q queries, C channels.
"""
import collections
import dataclasses
import math
import os
import pathlib
import re
import tempfile

import torch
from torch.nn import functional as F

LEVELS, POINTS, GROUPS = 3, 4, 32


class Source:
    """A checkpoint's tensors and its numbers of heads."""

    def __init__(self, tensors, swin_heads, window, heads):
        self.tensors = {name: x.double() if x.is_floating_point() else x for name, x in tensors.items()}
        self.swin_heads, self.window, self.heads = swin_heads, window, heads

    def __getitem__(self, name):
        return self.tensors[name]

    def count(self, pattern):
        return len({match[1] for name in self.tensors if (match := re.match(pattern, name))})

    def linear(self, x, name):
        return F.linear(x, self[f"{name}.weight"], self.tensors.get(f"{name}.bias"))

    def conv(self, x, name, **settings):
        return F.conv2d(x, self[f"{name}.weight"], self.tensors.get(f"{name}.bias"), **settings)

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self[f"{name}.weight"], self[f"{name}.bias"], 1e-5)

    def group_norm(self, x, name):
        return F.group_norm(x, GROUPS, self[f"{name}.weight"], self[f"{name}.bias"], 1e-5)

    def feed_forward(self, x, name, activation):
        """mmcv's FFN without its residual."""
        return self.linear(activation(self.linear(x, f"{name}.layers.0.0")), f"{name}.layers.1")


def filled(x, of):
    """[B,C,H,W] with zeros below and at the right, up to multiples of `of`."""
    return F.pad(x, (0, -x.shape[3] % of, 0, -x.shape[2] % of))


def heads_of(x, heads):
    """[B,N,C] -> [B,heads,N,C/heads]."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def attend(q, k, v, bias):
    """Heads apart, then together: [B,h,N,d] -> [B,N,C]."""
    weights = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + bias).softmax(-1)
    return (weights @ v).transpose(1, 2).flatten(2)


# ---- Backbone --------------------------------------------------------------------------------------------------------------------------------


def shift_bias(rows, columns, w, shift):
    """[windows,1,w w,w w]: -100 between places of a rolled grid that were not neighbours."""
    region = torch.zeros(rows, columns, dtype=torch.float64)
    cuts = (slice(0, -w), slice(-w, -shift), slice(-shift, None))
    for i, row in enumerate(cuts):
        for j, column in enumerate(cuts):
            region[row, column] = 3 * i + j
    region = F.unfold(region[None, None], w, stride=w)[0].t()  # [windows,w w]
    return torch.where(region[:, None, :] == region[:, :, None], 0.0, -100.0).double()[:, None]


def window_attention(m, x, name, heads, shift):
    """x [B,H,W,C]."""
    (b, rows, columns, c), w = x.shape, m.window
    grid = filled(x.permute(0, 3, 1, 2), w)
    if shift:
        grid = grid.roll((-shift, -shift), (2, 3))
    high, wide = grid.shape[2] // w, grid.shape[3] // w
    windows = grid.unflatten(3, (wide, w)).unflatten(2, (high, w)).permute(0, 2, 4, 3, 5, 1).reshape(-1, w * w, c)
    index = m[f"{name}.w_msa.relative_position_index"]
    bias = m[f"{name}.w_msa.relative_position_bias_table"][index.flatten()].view(w * w, w * w, heads).permute(2, 0, 1)[None]
    if shift:
        bias = (bias + shift_bias(high * w, wide * w, w, shift)).repeat(b, 1, 1, 1)
    q, k, v = (heads_of(part, heads) for part in m.linear(windows, f"{name}.w_msa.qkv").chunk(3, -1))
    mixed = m.linear(attend(q, k, v, bias), f"{name}.w_msa.proj")
    grid = mixed.view(b, high, wide, w, w, c).permute(0, 5, 1, 3, 2, 4).flatten(4, 5).flatten(2, 3)
    if shift:
        grid = grid.roll((shift, shift), (2, 3))
    return grid[:, :, :rows, :columns].permute(0, 2, 3, 1)


def backbone(m, pixels):
    """Four maps [B,C_i,H_i,W_i], finest first."""
    name = "backbone"
    patch = m[f"{name}.patch_embed.projection.weight"].shape[-1]
    x = m.conv(filled(pixels, patch), f"{name}.patch_embed.projection", stride=patch).permute(0, 2, 3, 1)
    x = m.norm(x, f"{name}.patch_embed.norm")
    maps = []
    for stage, heads in enumerate(m.swin_heads):
        for i in range(m.count(rf"{name}\.stages\.{stage}\.blocks\.(\d+)\.")):
            block = f"{name}.stages.{stage}.blocks.{i}"
            x = x + window_attention(m, m.norm(x, f"{block}.norm1"), f"{block}.attn", heads, m.window // 2 if i % 2 else 0)
            x = x + m.feed_forward(m.norm(x, f"{block}.norm2"), f"{block}.ffn", F.gelu)
        maps.append(m.norm(x, f"{name}.norm{stage}").permute(0, 3, 1, 2))
        if stage + 1 < len(m.swin_heads):
            below = f"{name}.stages.{stage}.downsample"
            even = filled(x.permute(0, 3, 1, 2), 2)
            merged = F.unfold(even, 2, stride=2).transpose(1, 2)  # the channel outside, its four places inside
            x = m.linear(m.norm(merged, f"{below}.norm"), f"{below}.reduction").unflatten(1, (even.shape[2] // 2, even.shape[3] // 2))
    return maps


# ---- Pixel decoder ---------------------------------------------------------------------------------------------------------------------------


def sine_positions(channels, rows, columns):
    """[C,rows,columns], rows first."""
    half = channels // 2
    period = 10000 ** (2 * (torch.arange(half) // 2).double() / half)

    def part(size):
        angle = torch.arange(1, size + 1).double()[:, None] / (size + 1e-6) * 2 * math.pi / period
        out = torch.empty(size, half, dtype=torch.float64)
        out[:, 0::2], out[:, 1::2] = angle[:, 0::2].sin(), angle[:, 1::2].cos()
        return out.t()

    return torch.cat([part(rows)[:, :, None].expand(-1, -1, columns), part(columns)[:, None, :].expand(-1, rows, -1)])


def deformable_attention(m, x, positions, grids, name):
    b, s, c = x.shape
    h, query = m.heads, x + positions
    values = m.linear(x, f"{name}.value_proj").unflatten(-1, (h, -1))
    offsets = m.linear(query, f"{name}.sampling_offsets").view(b, s, h, LEVELS, POINTS, 2)
    weights = m.linear(query, f"{name}.attention_weights").view(b, s, h, LEVELS * POINTS).softmax(-1).view(b, s, h, LEVELS, POINTS)
    middles = torch.cat([middles_of(*grid) for grid in grids])
    mixed, first = 0, 0
    for level, (rows, columns) in enumerate(grids):
        places = middles[None, :, None, None] + offsets[:, :, :, level] / torch.tensor([columns, rows]).double()
        of_level = values[:, first : first + rows * columns].permute(0, 2, 3, 1).reshape(b * h, -1, rows, columns)
        looked = F.grid_sample(of_level, 2 * places.transpose(1, 2).flatten(0, 1) - 1, mode="bilinear", padding_mode="zeros", align_corners=False)
        mixed = mixed + (looked.unflatten(0, (b, h)) * weights[:, :, :, level].transpose(1, 2)[:, :, None]).sum(-1)  # [B,h,d,S]
        first += rows * columns
    return m.linear(mixed.flatten(1, 2).transpose(1, 2), f"{name}.output_proj")


def middles_of(rows, columns):
    """x, y in 0..1 of each place: [rows columns,2]."""
    y, x = ((torch.arange(n).double() + 0.5) / n for n in (rows, columns))
    return torch.stack([x.repeat(rows), y.repeat_interleave(columns)], -1)


def pixel_decoder(m, maps, name):
    """(mask features [B,M,H/4,W/4], three levels [B,C,h,w], coarsest first)."""
    tokens, positions, grids = [], [], []
    for i, x in enumerate(maps[:0:-1]):
        x = m.group_norm(m.conv(x, f"{name}.input_convs.{i}.conv"), f"{name}.input_convs.{i}.gn")
        grids.append(tuple(x.shape[2:]))
        tokens.append(x.flatten(2).transpose(1, 2))
        positions.append(sine_positions(x.shape[1], *grids[-1]).flatten(1).t() + m[f"{name}.level_encoding.weight"][i])
    x, position = torch.cat(tokens, 1), torch.cat(positions)
    for i in range(m.count(rf"{re.escape(name)}\.encoder\.layers\.(\d+)\.")):
        layer = f"{name}.encoder.layers.{i}"
        x = m.norm(x + deformable_attention(m, x, position, grids, f"{layer}.attentions.0"), f"{layer}.norms.0")
        x = m.norm(x + m.feed_forward(x, f"{layer}.ffns.0", F.relu), f"{layer}.norms.1")
    parts = x.split([rows * columns for rows, columns in grids], 1)
    levels = [part.transpose(1, 2).unflatten(2, grid) for part, grid in zip(parts, grids)]
    finest = m.group_norm(m.conv(maps[0], f"{name}.lateral_convs.0.conv"), f"{name}.lateral_convs.0.gn")
    finest = finest + F.interpolate(levels[-1], finest.shape[2:], mode="bilinear", align_corners=False)
    finest = m.group_norm(m.conv(finest, f"{name}.output_convs.0.conv", padding=1), f"{name}.output_convs.0.gn").relu()
    return m.conv(finest, f"{name}.mask_feature"), levels


# ---- Head ------------------------------------------------------------------------------------------------------------------------------------


def multi_head(m, query, key, value, name, bias=0.0):
    """torch's MultiheadAttention: query [B,Q,C], key and value [B,S,C]."""
    parts = zip((query, key, value), m[f"{name}.in_proj_weight"].chunk(3), m[f"{name}.in_proj_bias"].chunk(3))
    q, k, v = (heads_of(F.linear(x, weight, offset), m.heads) for x, weight, offset in parts)
    return m.linear(attend(q, k, v, bias), f"{name}.out_proj")


def predictions(m, x, features, name):
    """(class logits [B,Q,classes+1], mask logits [B,Q,H/4,W/4]) of the queries x [B,Q,C]."""
    x = m.norm(x, f"{name}.transformer_decoder.post_norm")
    embed = m.linear(m.linear(m.linear(x, f"{name}.mask_embed.0").relu(), f"{name}.mask_embed.2").relu(), f"{name}.mask_embed.4")
    return m.linear(x, f"{name}.cls_embed"), torch.einsum("bqc,bchw->bqhw", embed, features)


def not_allowed(masks, grid):
    """-inf where a query may not look: outside its mask, unless that leaves it nothing. [B,1,Q,S]."""
    outside = F.interpolate(masks, grid, mode="bilinear", align_corners=False).flatten(2).sigmoid() < 0.5
    outside &= ~outside.all(-1, keepdim=True)
    return torch.zeros(outside.shape, dtype=torch.float64).masked_fill(outside, -math.inf)[:, None]


@torch.no_grad()
def forward(m, pixels):
    """pixels [B,3,H,W], normalised -> the last layer's class and mask logits."""
    name = "panoptic_head"
    features, levels = pixel_decoder(m, backbone(m, pixels.double()), f"{name}.pixel_decoder")
    grids = [level.shape[2:] for level in levels]
    inputs = [level.flatten(2).transpose(1, 2) + m[f"{name}.level_embed.weight"][i] for i, level in enumerate(levels)]
    places = [sine_positions(level.shape[1], *grid).flatten(1).t() for level, grid in zip(levels, grids)]
    x = m[f"{name}.query_feat.weight"].expand(len(pixels), -1, -1)
    position = m[f"{name}.query_embed.weight"]
    _, masks = predictions(m, x, features, name)
    for i in range(m.count(rf"{name}\.transformer_decoder\.layers\.(\d+)\.")):
        layer, at = f"{name}.transformer_decoder.layers.{i}", i % LEVELS
        bias = not_allowed(masks, grids[at])
        x = m.norm(x + multi_head(m, x + position, inputs[at] + places[at], inputs[at], f"{layer}.attentions.0.attn", bias), f"{layer}.norms.0")
        x = m.norm(x + multi_head(m, x + position, x + position, x, f"{layer}.attentions.1.attn"), f"{layer}.norms.1")
        x = m.norm(x + m.feed_forward(x, f"{layer}.ffns.0", F.relu), f"{layer}.norms.2")
        classes, masks = predictions(m, x, features, name)
    return classes, masks


# ---- The check -------------------------------------------------------------------------------------------------------------------------------

FORMATS = {True: "zip", False: "before torch 1.6"}
LIMIT = 1e-4  # of the largest difference over the largest logit; float64 leaves far less


@dataclasses.dataclass
class Sizes:
    """As the converter finds them out."""

    embed: int
    depths: list
    heads: list
    window: int
    queries: int
    classes: int
    decoder_layers: int
    encoder_layers: int
    features: int
    encoder_ffn: int
    decoder_ffn: int
    attention_heads: int = 8
    mlp_ratio: float = 4.0
    patch: int = 4

    @property
    def mask_features(self):
        return self.features

    @property
    def hidden(self):
        return self.features

    def channels(self, stage):
        return self.embed << stage


CASES = {
    "small": (Sizes(embed=16, depths=[1, 2, 3, 2], heads=[1, 2, 4, 4], window=5, queries=9, classes=6, decoder_layers=4, encoder_layers=2, features=64,
                    encoder_ffn=48, decoder_ffn=40, attention_heads=4, mlp_ratio=3.0), (108, 148)),
    "Swin-S": (Sizes(embed=96, depths=[2, 2, 18, 2], heads=[3, 6, 12, 24], window=7, queries=100, classes=80, decoder_layers=9, encoder_layers=6, features=256,
                     encoder_ffn=1024, decoder_ffn=2048), (128, 160)),
}  # fmt: skip


def random_tensor(name, shape, generator):
    """Weights of which every part moves the result."""
    noise = torch.randn(shape, generator=generator)
    if name.endswith("sampling_offsets.bias"):
        return 2 * noise
    if "bias_table" in name or "level_e" in name or "query_" in name:
        return noise
    if len(shape) == 1:  # norms' weights lie about 1
        return 0.3 * noise + (name.endswith("weight"))
    return noise * (1.5 if "qkv" in name or "in_proj" in name else 0.7) / math.sqrt(math.prod(shape[1:]))


def random_state(converter, sizes, seed):
    key_map, generator = converter.KeyMap(sizes), torch.Generator().manual_seed(seed)
    state = collections.OrderedDict((name, random_tensor(name, shape, generator)) for name, (shape, _) in sorted(key_map.entries.items()))
    for name, w in key_map.indices.items():  # as mmdetection counts: sums of two sequences, read backwards
        steps = ((2 * w - 1) * torch.arange(w)[:, None] + torch.arange(w)).flatten()
        state[name] = (steps[:, None] + steps[None, :]).flip(1).contiguous()
    return state


class Effect:
    """What a pickle must not do when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def transformers_logits(folder, pixels):
    from transformers import Mask2FormerForUniversalSegmentation, logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    model, info = Mask2FormerForUniversalSegmentation.from_pretrained(folder, output_loading_info=True)
    unused = ("criterion.empty_weight", "swin.layernorm.weight", "swin.layernorm.bias")
    wrong = [name for name in info["missing_keys"] if not name.endswith(unused)] + list(info["unexpected_keys"]) + list(info["mismatched_keys"])
    if wrong:
        raise SystemExit(f"transformers does not know what to do with {wrong}")
    with torch.no_grad():
        out = model.double().eval()(pixel_values=pixels.double())
    return out.class_queries_logits, out.masks_queries_logits


def difference(ours, theirs):
    return [((a - b).abs().max() / b.abs().max()).item() for a, b in zip(ours, theirs)]


class Report:
    passed = True

    def line(self, what, good, detail=""):
        self.passed &= good
        print(f"{'ok    ' if good else 'FAILED'}  {what}{': ' if detail else ''}{detail}", flush=True)


def check_numbers(converter, report, name, work, seed):
    sizes, (rows, columns) = CASES[name]
    state = random_state(converter, sizes, seed)
    pixels = torch.randn(2, 3, rows, columns, generator=torch.Generator().manual_seed(seed + 1))
    path, effect = work / f"{name}.pth", work / f"{name}-effect"
    meta = {"CLASSES": tuple("abc"), "effect": Effect(effect), "report": Report()}
    torch.save({"meta": meta, "state_dict": state}, path, _use_new_zipfile_serialization=name == "small")
    found = converter.convert(path, work / name)
    wrong = [f"{field.name} {getattr(found, field.name)}" for field in dataclasses.fields(sizes) if getattr(found, field.name) != getattr(sizes, field.name)]
    report.line(f"{name}: sizes are those of the tensors, and the pickle did nothing", not wrong and not effect.exists(), ", ".join(wrong))
    source = Source(state, sizes.heads, sizes.window, sizes.attention_heads)
    expected = forward(source, pixels)
    kept = (expected[1] > 0).double().mean().item()
    classes, masks = difference(transformers_logits(work / name, pixels), expected)
    report.line(f"{name}: mmdetection's logits and transformers'", max(classes, masks) < LIMIT,
                f"largest relative difference {classes:.1e} of classes, {masks:.1e} of masks (limit {LIMIT:.0e}; {kept:.0%} of mask logits above 0)")  # fmt: skip
    if name == "small":
        converter.convert(path, work / "wrong", neighbours=(0, 1, 2, 3))
        classes, masks = difference(transformers_logits(work / "wrong", pixels), expected)
        report.line("small: patch merging in a wrong order is seen", min(classes, masks) > LIMIT, f"{classes:.1e} of classes, {masks:.1e} of masks")


def check_errors(converter, report, work, seed):
    """Each wrong checkpoint is refused, and the message names what is wrong."""
    state = random_state(converter, CASES["small"][0], seed)
    proj, norm = "backbone.stages.2.blocks.1.attn.w_msa.proj.weight", "backbone.norm3.bias"
    without = {name: x for name, x in state.items() if name != norm}
    index = "backbone.stages.0.blocks.0.attn.w_msa.relative_position_index"
    wrong = {
        "a missing tensor": (without, norm), "an extra tensor": (state | {"ema_decay": torch.ones(1)}, "ema_decay"),
        "a tensor of another shape": (state | {proj: state[proj][:-1]}, proj), "an object among the tensors": (state | {norm: Report()}, "Report"),
        "another numbering of places": (state | {index: state[index].t()}, index), "a network of another kind": ({"fc.weight": torch.ones(2, 2)}, "no tensor")}  # fmt: skip
    for what, (tensors, named) in wrong.items():
        for zipped in (True, False):
            path = work / "wrong.pth"
            torch.save({"state_dict": tensors}, path, _use_new_zipfile_serialization=zipped)
            report.line(f"{what} is named ({FORMATS[zipped]})", *refused(converter, path, work, named))
    for keep in (0.9, 0.5, 0.001):
        for zipped in (True, False):
            torch.save({"state_dict": state}, path, _use_new_zipfile_serialization=zipped)
            os.truncate(path, int(path.stat().st_size * keep))
            report.line(f"{keep:.1%} of a checkpoint are refused ({FORMATS[zipped]})", *refused(converter, path, work, "wrong.pth"))


def refused(converter, path, work, named):
    try:
        converter.convert(path, work / "refused")
    except converter.WrongInput as error:
        return named in str(error), "" if named in str(error) else str(error)
    return False, "it was converted"


def check(converter, seed):
    """Status 0 if all is as it should be."""
    report = Report()
    with tempfile.TemporaryDirectory() as work:
        for name in CASES:
            check_numbers(converter, report, name, pathlib.Path(work), seed)
        check_errors(converter, report, pathlib.Path(work), seed)
    print("self check passed" if report.passed else "self check FAILED")
    return 0 if report.passed else 1
