"""Makes GIFs and what Pillow says of them: python make_gifs.py (Pillow >= 13, numpy)

pictures.txt, .bin   a picture a line: name, width, height, orientation; the pixels, as convert("RGB") gives them
"""
import io
import struct
from pathlib import Path

import numpy as np
from PIL import Image

HERE = Path(__file__).parent
random = np.random.default_rng(11)
lines, pixels = [], []


def keep(name, data):
    image = Image.open(io.BytesIO(data))
    rgb = np.asarray(image.convert("RGB"))
    (HERE / name).write_bytes(data)
    lines.append(f"gifs/{name} {rgb.shape[1]} {rgb.shape[0]} 1")
    pixels.append(rgb.tobytes())
    return rgb


def lzw(indices, bits):
    """Indices as codes of bits + 1 bits that never grow: a clear code comes often enough."""
    clear, end, width = 1 << bits, (1 << bits) + 1, bits + 1
    codes = []
    for i, index in enumerate(indices):
        if i % ((1 << bits) - 2) == 0:
            codes.append(clear)
        codes.append(int(index))
    value = sum(code << (i * width) for i, code in enumerate([*codes, end]))
    data = value.to_bytes((len(codes) + 1) * width // 8 + 1, "little")
    blocks = b"".join(bytes([len(data[i:i + 255])]) + data[i:i + 255] for i in range(0, len(data), 255))
    return bytes([bits]) + blocks + b"\0"


def screen(width, height, palette=None, background=0):
    flags = 0x80 | (len(palette) // 3).bit_length() - 2 if palette else 0
    return b"GIF89a" + struct.pack("<HHBBB", width, height, flags, background, 0) + bytes(palette or b"")


def control(transparent):
    return b"!\xf9\4\1\0\0" + bytes([transparent]) + b"\0"


def frame(x, y, width, height, indices, bits, palette=None, interlaced=False):
    flags = (0x80 | (len(palette) // 3).bit_length() - 2 if palette else 0) | (0x40 if interlaced else 0)
    return b"," + struct.pack("<HHHHB", x, y, width, height, flags) + bytes(palette or b"") + lzw(indices, bits)


FOUR = bytes((0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255))  # black, red, green, blue

# B05: an offset frame; around it is the transparent entry's colour, not the background's.
data = screen(4, 4, FOUR, 1) + control(3) + frame(1, 1, 2, 2, (2, 3, 2, 2), 2) + b";"
rgb = keep("b05.gif", data)
assert (rgb[0, 0] == (0, 0, 255)).all() and (rgb[1, 1] == (0, 255, 0)).all() and (rgb[1, 2] == (0, 0, 255)).all()
keep("no_transparency.gif", screen(5, 4, FOUR, 1) + frame(1, 2, 3, 1, (2, 1, 3), 2) + b";")
keep("beyond_canvas.gif", screen(2, 2, FOUR) + frame(1, 1, 3, 4, (1, 2, 3) * 4, 2) + b";")
keep("local_palette.gif", screen(3, 2, FOUR) + frame(0, 0, 3, 2, (0, 1, 2, 3, 2, 1), 2, bytes(range(90, 102))) + b";")
keep("no_palette.gif", screen(3, 2) + frame(0, 0, 3, 2, (0, 1, 2, 3, 2, 1), 2) + b";")
keep("short_palette.gif", screen(3, 2, FOUR) + frame(0, 0, 3, 2, (0, 1, 9, 15, 2, 1), 4) + b";")
keep("comments.gif", screen(3, 1, FOUR) + b"!\xfe\5hello\3you\0" + b"!\xff\x0bNETSCAPE2.0\3\1\0\0\0" + control(2)
     + frame(0, 0, 3, 1, (1, 2, 3), 2) + b";")
keep("two_frames.gif", screen(3, 1, FOUR) + frame(0, 0, 3, 1, (1, 2, 3), 2) + frame(0, 0, 3, 1, (3, 3, 3), 2) + b";")
for height in (1, 3, 8, 13):
    keep(f"interlaced{height}.gif",
         screen(9, height + 2, FOUR) + frame(0, 1, 9, height, random.integers(0, 4, 9 * height), 2, None, True) + b";")

photo = np.clip(np.cumsum(random.normal(0, 9, (40, 61, 3)), 1) + 120, 0, 255).astype(np.uint8)
for name, options in (("photo", {"interlace": False}), ("photo_interlaced", {"interlace": True})):
    out = io.BytesIO()
    Image.fromarray(photo).quantize(200).save(out, "GIF", **options)
    keep(f"{name}.gif", out.getvalue())
out = io.BytesIO()
Image.fromarray(photo[..., 0]).save(out, "GIF")
keep("grey.gif", out.getvalue())
out = io.BytesIO()
frames = [Image.fromarray(np.roll(photo, i, 1)).quantize(64) for i in range(3)]
frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
keep("animated.gif", out.getvalue())

(HERE / "pictures.txt").write_text("\n".join(lines) + "\n")
(HERE / "pictures.bin").write_bytes(b"".join(pixels))
