"""Makes pictures whose colour profile exchanges red and green: python make_profiles.py (Pillow, numpy)

swapped.png, .jpg, .webp, .tif, .avif
                          8 x 8 pixels of (250, 10, 20) with the profile; as little cms, through Pillow's ImageCms, has
                          it they are (10, 250, 20). The JPEG's profile comes in two pieces.
"""
import io
import struct
from pathlib import Path

from PIL import Image, ImageCms

HERE = Path(__file__).parent
COLOUR = (250, 10, 20)


def swapped_profile():
    """sRGB with the tags rXYZ and gXYZ each pointing to the other's value."""
    data = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    (n,) = struct.unpack_from(">I", data, 128)
    at = {bytes(data[132 + 12 * i:136 + 12 * i]): 136 + 12 * i for i in range(n)}
    r, g = at[b"rXYZ"], at[b"gXYZ"]
    data[r:r + 8], data[g:g + 8] = data[g:g + 8], data[r:r + 8]
    return bytes(data)


def in_two_pieces(jpeg, profile):
    def piece(number, data):
        return b"\xff\xe2" + struct.pack(">H", len(data) + 16) + b"ICC_PROFILE\0" + bytes((number, 2)) + data
    return jpeg[:2] + piece(2, profile[300:]) + piece(1, profile[:300]) + jpeg[2:]


profile = swapped_profile()
picture = Image.new("RGB", (8, 8), COLOUR)
picture.save(HERE / "swapped.png", icc_profile=profile)
picture.save(HERE / "swapped.webp", icc_profile=profile, lossless=True)
picture.save(HERE / "swapped.tif", icc_profile=profile)
picture.save(HERE / "swapped.avif", icc_profile=profile, quality=100, subsampling="4:4:4")
out = io.BytesIO()
picture.save(out, "JPEG", quality=100, subsampling=0)
(HERE / "swapped.jpg").write_bytes(in_two_pieces(out.getvalue(), profile))

srgb = ImageCms.createProfile("sRGB")
for name in ("swapped.png", "swapped.webp", "swapped.jpg", "swapped.tif", "swapped.avif"):
    opened = Image.open(HERE / name)
    assert opened.info["icc_profile"] == profile, name
    turned = ImageCms.profileToProfile(opened, io.BytesIO(profile), srgb)
    assert max(abs(a - b) for a, b in zip(turned.getpixel((5, 5)), (10, 250, 20))) <= 2, turned.getpixel((5, 5))
