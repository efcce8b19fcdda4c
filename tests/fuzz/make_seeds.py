#!/usr/bin/env python3
"""Writes the first inputs of the fuzz targets: make_seeds.py FOLDER makes FOLDER/TARGET for each."""
import json
import pathlib
import struct
import sys

SIZES = {"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "I32": 4, "I64": 8, "F16": 2, "BF16": 2, "F32": 4, "F64": 8}


def safetensors(tensors, metadata=None):
    """A file that holds zeros. tensors: name -> (dtype, shape)."""
    header, end = {}, 0
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, (dtype, shape) in tensors.items():
        begin, size = end, SIZES[dtype]
        for extent in shape:
            size *= extent
        end += size
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + bytes(end)


def safetensors_seeds():
    yield safetensors({})
    yield safetensors({"a": ("F32", [2])}, {"format": "pt"})
    yield safetensors({"scalar": ("F64", []), "empty": ("I8", [0, 3]), "w": ("BF16", [2, 2])})
    yield safetensors({dtype: (dtype, [1]) for dtype in SIZES})
    yield safetensors({"\u00e9\u4f60": ("U8", [3])}, {"\u00e9": "\u4f60", "empty": ""})


def config_seeds():
    """In the order of config_fuzz's kinds."""
    root = pathlib.Path(__file__).parents[2]
    cases = "tests/data/parity/"
    for kind, file in enumerate((
            cases + "sd3_transformer_sd35m/model/config.json", cases + "autoencoder_kl_sd3/model/config.json",
            cases + "scheduler_flux/model/scheduler_config.json", "models/backbones/glyph/text_encoder/config.json",
            cases + "clip_text_projection_gelu/model/config.json", cases + "t5_encoder/model/config.json",
            "models/backbones/glyph/model_index.json")):
        yield bytes([kind]) + (root / file).read_bytes()


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def nested(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def piece(text, score, kind=1):
    return nested(1, nested(1, text.encode()) + varint(2 << 3 | 5) + struct.pack("<f", score) + varint(3 << 3) + varint(kind))


def tokenizer_seeds():
    pieces = piece("<pad>", 0, 3) + piece("</s>", 0, 3) + piece("<unk>", 0, 2) + piece("a", -1) + piece("aa", -1.5)
    trie = struct.pack("<3I", 1 << 10, 0, 0)
    normalizer = nested(3, nested(2, struct.pack("<I", len(trie)) + trie + b"b\0"))
    trainer = nested(2, varint(3 << 3) + varint(1))
    yield pieces
    yield pieces + trainer + b"\x1faab"
    yield pieces + normalizer + trainer + "\x1f\u00e9a\u0301a".encode()


def main():
    targets = {"safetensors_fuzz": safetensors_seeds(), "config_fuzz": config_seeds(), "tokenizer_fuzz": tokenizer_seeds()}
    for name, seeds in targets.items():
        folder = pathlib.Path(sys.argv[1]) / name
        folder.mkdir(parents=True, exist_ok=True)
        for i, seed in enumerate(seeds):
            (folder / f"seed{i}").write_bytes(seed)


if __name__ == "__main__":
    main()
