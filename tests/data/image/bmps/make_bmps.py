"""Makes BMPs and what Pillow says of them: python make_bmps.py (Pillow >= 13, numpy)

pictures.txt, .bin   a picture a line: name, width, height, orientation; the pixels, as convert("RGB") gives them
"""
import io
import struct
from pathlib import Path

import numpy as np
from PIL import Image

HERE = Path(__file__).parent
random = np.random.default_rng(12)
lines, pixels = [], []


def keep(name, data):
    rgb = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    (HERE / name).write_bytes(data)
    lines.append(f"bmps/{name} {rgb.shape[1]} {rgb.shape[0]} 1")
    pixels.append(rgb.tobytes())


def noise(n):
    return random.integers(0, 256, n, np.uint8).tobytes()


def rows(width, height, bits):
    """Noise, with padding that is noise too."""
    return noise((width * bits + 31) // 32 * 4 * height)


def info(width, height, bits, compression=0, colors=0, size=40, masks=()):
    fields = struct.pack("<IiiHHIIiiII", size, width, height, 1, bits, compression, 0, 2835, 2835, colors, 0)
    return (fields + b"".join(struct.pack("<I", mask) for mask in masks)).ljust(size, b"\0")


def core(width, height, bits):
    return struct.pack("<IHHHH", 12, width, height, 1, bits)


def bmp(header, body, palette=b"", at=None, gap=b""):
    at = 14 + len(header) + len(palette) + len(gap) if at is None else at
    return b"BM" + struct.pack("<IHHI", 0, 0, 0, at) + header + palette + gap + body


def quads(n):
    return noise(4 * n)


def greys(n):
    return b"".join(bytes((i, i, i, 0)) for i in range(n))


BLACK_AND_WHITE = bytes((0, 0, 0, 0, 255, 255, 255, 0))

# Sizes that end within a byte, with padding and without.
for bits, colors in ((1, 2), (4, 16), (8, 256)):
    keep(f"palette{bits}.bmp", bmp(info(21, 6, bits), rows(21, 6, bits), quads(colors)))
    keep(f"palette{bits}_down.bmp", bmp(info(13, -5, bits), rows(13, 5, bits), quads(colors)))
    keep(f"core{bits}.bmp", bmp(core(9, 4, bits), rows(9, 4, bits), noise(3 * colors)))
for bits in (16, 24, 32):
    keep(f"rgb{bits}.bmp", bmp(info(7, 5, bits), rows(7, 5, bits)))
    keep(f"rgb{bits}_down.bmp", bmp(info(6, -4, bits), rows(6, 4, bits)))
    keep(f"core{bits}.bmp", bmp(core(5, 3, bits), rows(5, 3, bits)))
for size in (52, 56, 64, 108, 124):
    keep(f"header{size}.bmp", bmp(info(5, 3, 24, size=size), rows(5, 3, 24)))
    keep(f"header{size}_palette.bmp", bmp(info(5, 3, 8, size=size, colors=7), rows(5, 3, 8), quads(7)))

# Masks behind the header or within it, with alpha and without.
for name, masks in (("555", (0x7C00, 0x3E0, 0x1F)), ("565", (0xF800, 0x7E0, 0x1F))):
    every = np.arange(0, 65536, 61, np.uint16).tobytes()[:2 * 32 * 32]
    keep(f"masks{name}.bmp", bmp(info(32, 32, 16, 3) + struct.pack("<III", *masks), every))
    keep(f"masks{name}_inside.bmp", bmp(info(7, 3, 16, 3, 0, 108, masks), rows(7, 3, 16)))
keep("masks24.bmp", bmp(info(5, 3, 24, 3) + struct.pack("<III", 0xFF0000, 0xFF00, 0xFF), rows(5, 3, 24)))
for i, masks in enumerate(((0xFF0000, 0xFF00, 0xFF, 0), (0xFF000000, 0xFF0000, 0xFF00, 0),
                           (0xFF000000, 0xFF00, 0xFF, 0), (0xFF000000, 0xFF0000, 0xFF00, 0xFF),
                           (0xFF, 0xFF00, 0xFF0000, 0xFF000000), (0xFF0000, 0xFF00, 0xFF, 0xFF000000),
                           (0xFF000000, 0xFF00, 0xFF, 0xFF0000), (0, 0, 0, 0))):
    keep(f"masks32_{i}.bmp", bmp(info(4, 3, 32, 3, 0, 124 if i % 2 else 56, masks), rows(4, 3, 32)))
    if masks[3] == 0:
        keep(f"masks32_{i}_behind.bmp", bmp(info(4, 3, 32, 3) + struct.pack("<III", *masks[:3]), rows(4, 3, 32)))
keep("masks32_52.bmp", bmp(info(4, 3, 32, 3, 0, 52, (0xFF000000, 0xFF0000, 0xFF00)), rows(4, 3, 32)))

# Palettes: shorter than the indices, longer than they can be, of greys, black and white; where the pixels are.
keep("short_palette.bmp", bmp(info(8, 4, 8, colors=5), rows(8, 4, 8), quads(5)))
keep("short_palette4.bmp", bmp(info(8, 4, 4, colors=3), rows(8, 4, 4), quads(3)))
keep("long_palette.bmp", bmp(info(8, 4, 4, colors=200), rows(8, 4, 4), quads(200)))
keep("cut_palette.bmp", bmp(info(4, 4, 8, colors=300), bytes(range(16)), quads(9)))
keep("one_color.bmp", bmp(info(8, 4, 8, colors=1), rows(8, 4, 8), quads(1)))
keep("greys.bmp", bmp(info(8, 4, 8), rows(8, 4, 8), greys(256)))
keep("few_greys.bmp", bmp(info(8, 4, 8, colors=30), rows(8, 4, 8), greys(30)))
keep("black_and_white.bmp", bmp(info(37, 3, 1), rows(37, 3, 1), BLACK_AND_WHITE))
keep("white_and_black.bmp", bmp(info(37, 3, 1), rows(37, 3, 1), BLACK_AND_WHITE[4:] + BLACK_AND_WHITE[:4]))
keep("black_and_white8.bmp", bmp(info(9, 3, 8, colors=2), rows(9, 3, 8), BLACK_AND_WHITE))
keep("black.bmp", bmp(info(9, 3, 8, colors=1), rows(9, 3, 8), bytes(4)))
keep("gap.bmp", bmp(info(5, 3, 8, colors=4), rows(5, 3, 8), quads(4), gap=b"something"))
keep("gap24.bmp", bmp(info(5, 3, 24), rows(5, 3, 24), gap=b"something"))
keep("at_nothing.bmp", bmp(info(5, 3, 8, colors=4), rows(5, 3, 8), quads(4), at=0))
keep("at_palette.bmp", bmp(info(5, 3, 8, colors=4), rows(5, 3, 8), quads(4), at=54))
keep("at_header.bmp", bmp(info(5, 3, 24), rows(5, 4, 24), at=20))
keep("no_padding.bmp", bmp(info(5, 3, 24), rows(5, 3, 24)[:-1]))
keep("trailer.bmp", bmp(info(5, 3, 24), rows(5, 3, 24) + b"and more"))

# Without the file's own header.
keep("bare.dib", info(5, 3, 8, colors=4) + quads(4) + rows(5, 3, 8))
keep("bare24.dib", info(5, -3, 24) + rows(5, 3, 24))
keep("bare_core.dib", core(5, 3, 4) + noise(48) + rows(5, 3, 4))

# Runs: of all lengths, literal pixels of odd number, ends of rows that come early, late and twice, jumps.
RUNS = {
    "plain": (5, 1, 3, 2, 0, 0, 1, 3, 7, 1, 0, 0, 8, 2, 0, 1),
    "literal": (0, 3, 1, 2, 3, 0, 5, 1, 0, 0, 0, 8, 1, 2, 3, 1, 2, 3, 1, 2, 0, 0, 8, 3, 0, 1),
    "early_ends": (2, 1, 0, 0, 0, 0, 1, 2, 0, 0, 1, 3, 0, 0),
    "late_end": (9, 1, 3, 2, 0, 0, 8, 2, 4, 2, 0, 0, 8, 3, 0, 0, 0, 1),
    "jumps": (0, 2, 3, 0, 2, 1, 0, 2, 1, 1, 4, 2, 0, 2, 255, 255),
    "flowing": (0, 11, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 0, 3, 3, 0, 0, 8, 1, 0, 0),
    "all_literal": (0, 24, *range(24), 0, 1),
}
for name, run in RUNS.items():
    for bits, compression in ((8, 1), (4, 2)):
        run4 = run
        if bits == 4:  # literal pixels take half the bytes
            run4 = {"literal": (0, 3, 0x12, 0x30, 5, 0x12, 0, 0, 0, 8, 0x12, 0x31, 0x23, 0x12, 0, 0, 8, 0x31, 0, 1),
                    "flowing": (0, 11, 0x12, 0x31, 0x23, 0x12, 0x31, 0x20, 3, 0x32, 0, 0, 8, 0x13, 0, 0),
                    "all_literal": (0, 24, *range(0, 240, 20), 0, 1)}.get(name, run)
        keep(f"rle{bits}_{name}.bmp", bmp(info(8, 3, bits, compression, 5), bytes(run4) + b"\0\1", quads(5)))
keep("rle8_down.bmp", bmp(info(8, -3, 8, 1, 5), bytes(RUNS["plain"]), quads(5)))
keep("rle8_odd.bmp", bmp(info(8, 3, 8, 1, 5), bytes((0, 3, 1, 2, 3, 5, 1, 0, 0, 8, 2, 0, 0, 8, 3)), quads(5), gap=b"x"))
keep("rle8_greys.bmp", bmp(info(8, 3, 8, 1, 5), bytes(RUNS["plain"]), greys(5)))
keep("rle8_two.bmp", bmp(info(8, 3, 8, 1, 2), bytes(RUNS["plain"]), BLACK_AND_WHITE))
keep("rle4_in_8.bmp", bmp(info(8, 3, 8, 2, 5), bytes(RUNS["plain"]), quads(5)))
keep("rle8_in_4.bmp", bmp(info(8, 3, 4, 1, 5), bytes(RUNS["plain"]), quads(5)))

photo = np.clip(np.cumsum(random.normal(0, 9, (20, 33, 3)), 1) + 120, 0, 255).astype(np.uint8)
for mode in ("1", "L", "P", "RGB", "RGBA"):
    out = io.BytesIO()
    Image.fromarray(photo).convert(mode).save(out, "BMP")
    keep(f"pillow_{mode}.bmp", out.getvalue())

(HERE / "pictures.txt").write_text("\n".join(lines) + "\n")
(HERE / "pictures.bin").write_bytes(b"".join(pixels))
print(len(lines))
