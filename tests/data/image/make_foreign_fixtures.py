"""Makes the pictures of this folder that are read through libvips, and what Pillow says of them.

    python make_foreign_fixtures.py     (Pillow >= 13, numpy, tifffile, imagecodecs, pillow-heif,
                                         pillow-jxl-plugin)

foreign.txt, .bin   as pictures.txt and .bin (see make_fixtures.py): a picture a line, its pixels

Where Pillow cannot read a file, or reads it wrongly, the pixels are computed here.
"""
import io
import struct
from pathlib import Path

import imagecodecs
import numpy as np
import pillow_heif
import pillow_jxl  # registers itself
import tifffile
from PIL import Image, ImageOps

HERE = Path(__file__).parent
ORIENTATION = 0x0112
random = np.random.default_rng(11)
pictures, all_pixels = [], []
pillow_heif.register_heif_opener()


def scene(width, height, channels=3, noise=12):
    """Slopes, edges and noise."""
    y, x = np.mgrid[0:height, 0:width]
    planes = []
    for c in range(channels):
        plane = (x * (5 + c) + y * (3 + 2 * c)) % 256
        plane = np.where((x // 5 + y // 4) % 3 == c % 3, 255 - plane, plane)
        planes.append(plane + random.normal(0, noise, plane.shape))
    return np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)


def rgb_of(grey):
    return np.repeat(np.asarray(grey, np.uint8)[..., None], 3, 2)


def keep(name, data, expected=None, orientation=None):
    image = Image.open(io.BytesIO(data)) if expected is None or orientation is None else None
    if orientation is None:
        orientation = image.getexif().get(ORIENTATION, 1)
    # Pillow turns a TIFF that it loads by itself.
    pixels = np.asarray(image.convert("RGB")) if expected is None else expected
    height, width, _ = pixels.shape
    (HERE / name).write_bytes(data)
    all_pixels.append(np.ascontiguousarray(pixels).tobytes())
    pictures.append(f"{name} {width} {height} {orientation}")


def saved(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def tiff(pixels, **options):
    out = io.BytesIO()
    tifffile.imwrite(out, pixels, metadata=None, software=False, **options)
    return out.getvalue()


# --- TIFF ----------------------------------------------------------------------------------------


def make_tiffs():
    rgb = scene(37, 29)
    grey = rgb[..., 0]
    for order in "<>":
        end = "be" if order == ">" else "le"
        keep(f"rgb_{end}.tif", tiff(rgb, byteorder=order, photometric="rgb", rowsperstrip=5))
        keep(f"grey16_{end}.tif",
             tiff(np.array([[0, 255, 256, 4096, 32768, 65535]], np.uint16), byteorder=order),
             rgb_of([[0, 0, 1, 16, 128, 255]]), 1)
    for name, compression in (("lzw", "lzw"), ("deflate", "zlib"), ("packbits", "packbits"),
                              ("zstd", "zstd"), ("lzma", "lzma")):
        keep(f"{name}.tif", tiff(rgb, compression=compression, rowsperstrip=7, photometric="rgb"),
             rgb, 1)
    keep("predictor.tif", tiff(rgb, compression="zlib", predictor=True, photometric="rgb"))
    keep("planar.tif", tiff(np.moveaxis(rgb, -1, 0), planarconfig="separate", photometric="rgb",
                            rowsperstrip=6), rgb, 1)
    keep("tiled.tif", tiff(rgb, tile=(16, 32), photometric="rgb", compression="zlib"))
    keep("big.tif", tiff(rgb, bigtiff=True, photometric="rgb"), rgb, 1)
    keep("big_be.tif", tiff(rgb, bigtiff=True, byteorder=">", photometric="rgb",
                            compression="zlib"), rgb, 1)
    keep("pages.tif", pages(rgb))
    keep("pyramid.tif", pyramid(scene(64, 48)))
    tall = scene(9, 300)
    keep("one_strip.tif", tiff(tall, compression="zlib", rowsperstrip=300, photometric="rgb"))

    keep("white_is_zero.tif", tiff(grey, photometric="miniswhite"), rgb_of(255 - grey), 1)
    keep("bilevel.tif", saved(Image.fromarray(grey).convert("1"), "TIFF"))
    keep("group4.tif", saved(Image.fromarray(grey).convert("1"), "TIFF", compression="group4"))
    keep("palette.tif", saved(Image.fromarray(rgb).quantize(60), "TIFF"))
    keep("palette_grey.tif", saved(grey_palette(), "TIFF"))
    for bits in (2, 4):
        keep(f"grey{bits}.tif", packed(bits, 1))
        keep(f"white_is_zero{bits}.tif", packed(bits, 0))
        keep(f"palette{bits}.tif", packed(bits, 3))
    keep("grey_alpha.tif", saved(Image.fromarray(scene(13, 9, 2), "LA"), "TIFF"))
    keep("rgba.tif", saved(Image.fromarray(scene(13, 9, 4), "RGBA"), "TIFF"))
    keep("cmyk.tif", saved(Image.fromarray(scene(13, 9, 4), "CMYK"), "TIFF"))
    keep("cmyk16.tif", tiff(scene16(13, 9, 4), photometric="separated"))
    keep("jpeg.tif", saved(Image.fromarray(rgb), "TIFF", compression="jpeg", quality=80))
    keep("jpeg_grey.tif", saved(Image.fromarray(grey), "TIFF", compression="jpeg", quality=80))
    keep("associated.tif", associated(np.uint8))
    keep("associated16.tif", associated(np.uint16))
    keep("rgb16.tif", tiff(scene16(13, 9), photometric="rgb"))
    keep("rgba16.tif", tiff(scene16(13, 9, 4), photometric="rgb", extrasamples=["unassalpha"]))
    keep("rgb16_be.tif", tiff(scene16(13, 9), photometric="rgb", byteorder=">",
                              compression="zlib", predictor=True))
    keep("int16.tif", tiff(np.array([[-32768, -1, 0, 1, 255, 256, 32767]], np.int16)))
    keep("int32.tif", tiff(np.array([[-2**31, -1, 0, 1, 255, 256, 2**31 - 1]], np.int32)))
    keep("uint32.tif", tiff(np.array([[0, 1, 255, 256, 2**31 - 1]], np.uint32)))

    # From the field: B09, B12.
    keep("b09_rgb16.tif", tiff((np.arange(12).reshape(2, 2, 3) * 5000).astype(np.uint16),
                               photometric="rgb"))
    keep("b09_nir.tif", tiff((np.arange(16).reshape(2, 2, 4) * 10).astype(np.uint8),
                             photometric="rgb", extrasamples=["unspecified"]))
    keep("b09_float.tif", tiff(np.array([[0, .5, 1, 300, -5]], np.float32)),
         rgb_of([[0, 0, 1, 255, 0]]), 1)
    (HERE / "b09_bands.tif").write_bytes(
        tiff(np.arange(20).reshape(5, 2, 2).astype(np.uint16) * 1000, planarconfig="separate",
             photometric="minisblack"))
    base = np.array([[40, 80, 120], [160, 200, 240]], np.uint8)
    turned = [(ORIENTATION, "H", 1, 6, True)]
    keep("b12_plain.tif", tiff(base, extratags=turned), rgb_of(base), 6)
    keep("b12_lzw.tif", tiff(base, extratags=turned, compression="lzw"), rgb_of(base), 6)
    keep("b12_rgb.tif", tiff(rgb_of(base), extratags=turned, photometric="rgb"), rgb_of(base), 6)
    keep("b12_be.tif", tiff(base, extratags=turned, byteorder=">"), rgb_of(base), 6)


def scene16(width, height, channels=3):
    return scene(width, height, channels).astype(np.uint16) * 256 + random.integers(
        0, 256, (height, width, channels)).astype(np.uint16)


def pages(rgb):
    out = io.BytesIO()
    with tifffile.TiffWriter(out) as writer:
        for page in (rgb, 255 - rgb):
            writer.write(page, photometric="rgb", metadata=None, software=False)
    return out.getvalue()


def pyramid(rgb):
    """A whole picture with a smaller one in a sub-directory, by a maker of cameras."""
    out = io.BytesIO()
    with tifffile.TiffWriter(out) as writer:
        options = dict(photometric="rgb", tile=(16, 16), metadata=None, software=False)
        writer.write(rgb, subifds=1, extratags=[(271, "s", 0, "NIKON CORPORATION", True)],
                     **options)
        writer.write(np.ascontiguousarray(rgb[::2, ::2]), subfiletype=1, **options)
    return out.getvalue()


def grey_palette():
    image = Image.fromarray(random.integers(0, 256, (9, 13)).astype(np.uint8), "P")
    image.putpalette([255 - i for i in range(256) for _ in range(3)])
    return image


def associated(kind):
    """Colours multiplied by an opacity, and some that are larger than it."""
    top = np.iinfo(kind).max
    pixels = scene(24, 17, 4).astype(np.uint32) * (top // 255)
    alpha = random.choice([0, 1, top // 3, top // 2, top - 1, top], (17, 24))
    pixels[..., :3] = pixels[..., :3] * alpha[..., None] // top
    pixels[..., 3] = alpha
    pixels[0, :4, :3] = top
    return tiff(pixels.astype(kind), photometric="rgb", extrasamples=["assocalpha"])


def entry(tag, kind, values):
    sizes = {3: "H", 4: "I"}
    return tag, kind, len(values), struct.pack(f"<{len(values)}{sizes[kind]}", *values)


def handmade(entries, pixels):
    """A little-endian TIFF of one strip."""
    entries = sorted(entries + [entry(273, 4, [8]), entry(279, 4, [len(pixels)])])
    at = 8 + len(pixels) + len(pixels) % 2
    head = b"II*\0" + struct.pack("<I", at) + pixels + b"\0" * (len(pixels) % 2)
    extra_at, directory, extra = at + 2 + 12 * len(entries) + 4, b"", b""
    for tag, kind, n, value in entries:
        directory += struct.pack("<HHI", tag, kind, n)
        if len(value) <= 4:
            directory += value.ljust(4, b"\0")
        else:
            directory += struct.pack("<I", extra_at + len(extra))
            extra += value + b"\0" * (len(value) % 2)
    return head + struct.pack("<H", len(entries)) + directory + b"\0\0\0\0" + extra


def packed(bits, photometric, width=13, height=9):
    """Samples of less than a byte."""
    entries = [entry(256, 4, [width]), entry(257, 4, [height]), entry(258, 3, [bits]),
               entry(259, 3, [1]), entry(262, 3, [photometric]), entry(277, 3, [1]),
               entry(278, 4, [height])]
    if photometric == 3:
        entries.append(entry(320, 3, [int(v) for v in random.integers(0, 65536, 3 << bits)]))
    return handmade(entries, random.bytes((width * bits + 7) // 8 * height))


def ycbcr():
    """YCbCr that is stored as it is, without subsampling."""
    pixels = scene(13, 9)
    entries = [entry(256, 4, [13]), entry(257, 4, [9]), entry(258, 3, [8, 8, 8]),
               entry(259, 3, [1]), entry(262, 3, [6]), entry(277, 3, [3]), entry(278, 4, [9]),
               entry(530, 3, [1, 1])]
    return handmade(entries, pixels.tobytes()), pixels


def raw_camera(name, entries, head=b"II*\0", at_8=b""):
    """The first bytes and the directory of a camera's file, with a thumbnail of 4 pixels."""
    data = handmade([entry(256, 4, [2]), entry(257, 4, [2]), entry(258, 3, [8]),
                     entry(259, 3, [1]), entry(262, 3, [1]), entry(277, 3, [1]),
                     entry(278, 4, [2])] + entries, at_8.ljust(4, b"\0"))
    (HERE / name).write_bytes(head + data[4:])


def make_raws():
    text = lambda tag, words: (tag, 2, len(words) + 1, words.encode() + b"\0")
    raw_camera("raw.dng", [(50706, 1, 4, b"\1\4\0\0"), text(271, "Anybody")])
    raw_camera("raw.nef", [entry(254, 4, [1]), entry(330, 4, [8]), text(271, "NIKON CORPORATION")])
    raw_camera("raw.arw", [entry(254, 4, [1]), entry(330, 4, [8]), text(271, "SONY")])
    raw_camera("raw.cr2", [], at_8=b"CR\2\0")
    raw_camera("raw.orf", [], head=b"IIRO")
    raw_camera("raw.rw2", [], head=b"IIU\0")


# --- HEIC, AVIF, JPEG XL, JPEG 2000 --------------------------------------------------------------


def deep(pixels):
    return pixels.astype(np.uint16) * 257


def smooth(width, height, channels=3):
    """Slopes only: libraries differ in how they make chroma of half the size whole again."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [40 + 20 * c + (3 + c) * x // 2 + (4 - c) * y // 2 for c in range(channels)]
    return np.stack(planes, -1).astype(np.uint8)


def upright(data):
    return np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB"))


def make_frames():
    rgb, rgba = smooth(37, 29), smooth(37, 29, 4)
    image, grey = Image.fromarray(rgb), Image.fromarray(rgb[..., 0])
    for kind, suffix in (("HEIF", "heic"), ("AVIF", "avif")):
        options = {"chroma": 444} if kind == "HEIF" else {"subsampling": "4:4:4"}
        keep(f"colour.{suffix}", saved(image, kind, quality=90), None, 1)
        keep(f"full_chroma.{suffix}", saved(image, kind, quality=90, **options), None, 1)
        keep(f"alpha.{suffix}", saved(Image.fromarray(rgba), kind, quality=90), None, 1)
        keep(f"grey.{suffix}", saved(grey, kind, quality=90), None, 1)
        turned = Image.Exif()
        turned[ORIENTATION] = 6
        # The file's own turning is done, and Pillow has an upright picture then.
        data = saved(image, kind, quality=90, exif=turned.tobytes())
        keep(f"turned.{suffix}", data, upright(data), 1)
    keep("deep.avif", imagecodecs.avif_encode(deep(rgb) >> 6, level=90, bitspersample=10), None, 1)

    encode = imagecodecs.jpegxl_encode
    keep("lossy.jxl", encode(rgb, distance=0.5), None, 1)
    keep("lossless.jxl", encode(rgb, lossless=True), rgb, 1)
    keep("grey.jxl", encode(rgb[..., 0], lossless=True), rgb_of(rgb[..., 0]), 1)
    keep("alpha.jxl", encode(rgba, lossless=True), rgba[..., :3], 1)
    keep("deep.jxl", encode(deep(rgb), lossless=True), rgb, 1)
    keep("box.jxl", encode(rgb, lossless=True, usecontainer=True), rgb, 1)

    encode = imagecodecs.jpeg2k_encode
    keep("lossless.jp2", encode(rgb, level=0, reversible=True), rgb, 1)
    keep("lossless.j2k", encode(rgb, level=0, reversible=True, codecformat="j2k"), rgb, 1)
    keep("lossy.jp2", encode(rgb, level=38), None, 1)
    keep("grey.jp2", encode(rgb[..., 0], level=0, reversible=True), rgb_of(rgb[..., 0]), 1)
    keep("alpha.jp2", encode(rgba, level=0, reversible=True), rgba[..., :3], 1)
    keep("deep.jp2", encode(deep(rgb), level=0, reversible=True), rgb, 1)
    keep("tiled.jp2", saved(image, "JPEG2000", tile_size=(16, 16)), rgb, 1)


# --- Netpbm --------------------------------------------------------------------------------------


def make_netpbm():
    rgb = scene(13, 7)
    text = lambda values: " ".join(str(int(v)) for v in np.asarray(values).ravel()).encode()
    bits = rgb[..., 0] > 127
    keep("p1.pbm", b"P1\n# words\n13 7\n" + text(bits).replace(b" ", b""))
    keep("p2.pgm", b"P2 13 7 # words\n100\n" + text(rgb[..., 0] % 101))
    keep("p3.ppm", b"P3\n13 7\n1000\n" + text(rgb.astype(int) * 4 % 1001))
    keep("p4.pbm", b"P4\n13 7\n" + np.packbits(bits, 1).tobytes())
    keep("p5.pgm", b"P5\n13 7\n255\n" + rgb[..., 0].tobytes())
    keep("p6.ppm", b"P6\n13 7\n255\n" + rgb.tobytes())
    keep("p6_low.ppm", b"P6\n13 7\n31\n" + (rgb % 32).tobytes())
    wide = scene16(13, 7)
    keep("p6_deep.ppm", b"P6\n13 7\n65535\n" + wide.astype(">u2").tobytes())
    keep("p5_deep.pgm", b"P5\n13 7\n65535\n" + wide[..., 0].astype(">u2").tobytes(),
         rgb_of(wide[..., 0] >> 8), 1)
    pam = b"P7\nWIDTH 13\nHEIGHT 7\nDEPTH %d\nMAXVAL 255\nTUPLTYPE %s\nENDHDR\n"
    rgba = scene(13, 7, 4)
    keep("rgb.pam", pam % (3, b"RGB") + rgb.tobytes(), rgb, 1)
    keep("rgba.pam", pam % (4, b"RGB_ALPHA") + rgba.tobytes(), rgba[..., :3], 1)


make_tiffs()
make_frames()
make_netpbm()
data, stored = ycbcr()
keep("ycbcr.tif", data, np.asarray(Image.fromarray(stored, "YCbCr").convert("RGB")), 1)
make_raws()
(HERE / "foreign.bin").write_bytes(b"".join(all_pixels))
(HERE / "foreign.txt").write_text("\n".join(pictures) + "\n")
