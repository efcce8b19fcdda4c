#!/usr/bin/env python3
"""The golden normals of noise_test.cpp, computed independently of trainers/sampling/noise.cpp: Python integers and libm."""
import math
import struct


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def normals(seed, epoch, stream, step, sample, prompt, count):
    out = []
    for block in range((count + 3) // 4):
        w = philox([block, step | stream << 16, sample, prompt], [seed, epoch])
        for a, b in (w[:2], w[2:]):
            radius, angle = math.sqrt(-2 * math.log((a + 1) / 2**32)), 2 * math.pi * (b / 2**32)
            out += [radius * math.cos(angle), radius * math.sin(angle)]
    return [struct.unpack("f", struct.pack("f", x))[0] for x in out[:count]]


assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]  # Random123's kat_vectors
for address in ((42, 0, 0, 0, 0, 0), (42, 3, 1, 5, 7, 1017), (2**32 - 1, 39, 2, 0, 15, 12)):
    print(address, ", ".join(x.hex().replace("00000p", "p") + "f" for x in normals(*address, 6)))
