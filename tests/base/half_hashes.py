#!/usr/bin/env python3
"""Prints the two numbers that test_half.c holds: what numpy makes of float16, hashed (FNV-1a, 64 bits)."""
import numpy as np


def fnv1a(data):
    state = 0xCBF29CE484222325
    for byte in data:
        state = (state ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return state


halves = np.arange(65536, dtype=np.uint16)
halves = halves[~np.isnan(halves.view(np.float16))]
print("widened", hex(fnv1a(halves.view(np.float16).astype("<f4").tobytes())))

# Between each finite float16 and the next larger one: the middle, and the float32 on either side of it.
below = np.arange(0x7BFF, dtype=np.uint16).view(np.float16).astype(np.float32)
above = np.arange(1, 0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
middle = (below + above) / np.float32(2)
smaller, larger = np.nextafter(middle, np.float32(0)), np.nextafter(middle, np.float32(np.inf))
cases = np.stack([smaller, middle, larger], axis=1).ravel()
print("narrowed", hex(fnv1a(np.concatenate([cases, -cases]).astype("<f2").tobytes())))
