#!/usr/bin/env python3
"""Small WebP, HEIC, AVIF, GIF and TIFF files, and files with color profiles: run with Pillow 13 and pillow-heif 1.8.

What they show is the decoding of Pillow and pillow-heif, upright and over white; with a profile, its conversion to
sRGB by ImageCms (lcms2). Code points and the chunks of PNG files become a profile for that.
"""

import base64
import io
import json
import struct
import zlib
from pathlib import Path

import pillow_heif
from PIL import Image, ImageCms, ImageOps

pillow_heif.register_heif_opener()
OUT = Path(__file__).parent / "Fixtures" / "Formats"
W, H = 24, 16
SRGB = ImageCms.createProfile("sRGB")
P3 = [(0.51512, 0.24120, -0.00105), (0.29198, 0.69225, 0.04189), (0.15710, 0.06657, 0.78407)]
ADOBE = [(0.60974, 0.31111, 0.01947), (0.20528, 0.62567, 0.06087), (0.14919, 0.06322, 0.74457)]
BT709 = [(0.43607, 0.22249, 0.01392), (0.38515, 0.71687, 0.09708), (0.14307, 0.06061, 0.71410)]
BT2020 = [(0.67346, 0.27904, -0.00193), (0.16566, 0.67534, 0.02998), (0.12505, 0.04561, 0.79686)]
SRGB_CURVE = (3, 2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045)


def fixed(values):
    return b"".join(struct.pack(">i", round(v * 65536)) for v in values)


def icc(model, tags, pcs=b"XYZ ", version=0x04300000):
    """A profile of tags in their order (ICC.1:2022, section 7)."""
    at = 132 + 12 * len(tags)
    table, body = struct.pack(">I", len(tags)), b""
    for name, data in tags.items():
        table += name + struct.pack(">II", at + len(body), len(data))
        body += data + b"\0" * (-len(data) % 4)
    header = struct.pack(">I4xI4s4s4s12x4s", at + len(body), version, b"mntr", model, pcs, b"acsp")
    header += b"\0" * 28 + fixed((0.9642, 1, 0.8249)) + b"\0" * 48
    return header + table + body


def curve(parameters):
    if isinstance(parameters, float):
        return b"curv\0\0\0\0" + struct.pack(">IH", 1, round(parameters * 256))
    return b"para\0\0\0\0" + struct.pack(">HH", parameters[0], 0) + fixed(parameters[1:])


def matrix_profile(primaries, parameters):
    tags = {name: b"XYZ \0\0\0\0" + fixed(p) for name, p in zip((b"rXYZ", b"gXYZ", b"bXYZ"), primaries)}
    return icc(b"RGB ", tags | {name: curve(parameters) for name in (b"rTRC", b"gTRC", b"bTRC")})


def lab(rgb):
    """L*a*b* of a color between linear and sRGB, as bytes."""
    linear = [v**2.0 for v in rgb]
    xyz = [sum(BT709[c][row] * linear[c] for c in range(3)) / white for row, white in enumerate((0.9642, 1, 0.8249))]
    f = [v ** (1 / 3) if v > 216 / 24389 else (24389 / 27 * v + 16) / 116 for v in xyz]
    light = 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])
    return bytes(min(255, max(0, round(v))) for v in (light[0] * 2.55, light[1] + 128, light[2] + 128))


def table_profile(model, components, grid, color):
    """An 8-bit table from components to L*a*b* (lut8Type)."""
    data = b"mft1\0\0\0\0" + bytes((components, 3, grid, 0)) + fixed((1, 0, 0, 0, 1, 0, 0, 0, 1))
    data += bytes(range(256)) * components
    for index in range(grid**components):
        place = [index // grid ** (components - 1 - c) % grid / (grid - 1) for c in range(components)]
        data += lab(color(place))
    return icc(model, {b"A2B0": data + bytes(range(256)) * 3}, pcs=b"Lab ", version=0x02100000)


P3_PROFILE = matrix_profile(P3, SRGB_CURVE)
ADOBE_PROFILE = matrix_profile(ADOBE, 563 / 256)
SRGB_PROFILE = matrix_profile(BT709, SRGB_CURVE)
TABLE_PROFILE = table_profile(b"RGB ", 3, 9, lambda p: p)
CMYK_PROFILE = table_profile(b"CMYK", 4, 4, lambda p: [(1 - v) * (1 - 0.9 * p[3]) for v in p[:3]])
GRAY_PROFILE = icc(b"GRAY", {b"kTRC": curve(1.5)})

art = Image.new("RGB", (W, H))
art.putdata([(x * 11, y * 17, (x * 6 + y * 8 + 40) % 256) for y in range(H) for x in range(W)])
# Decoders interpolate subsampled colors in different ways, which edges would show.
smooth = Image.new("RGB", (W, H))
smooth.putdata([(60 + x * 2, 200 - y * 3, 80 + x + y) for y in range(H) for x in range(W)])
clear = art.convert("RGBA")
alpha = bytes(min(255, (x * 9 + y * 13) % 300) for y in range(H) for x in range(W))
clear.putalpha(Image.frombytes("L", (W, H), alpha))
expected = {}


def shown(image, profile=None):
    """Upright sRGB over white."""
    image = ImageOps.exif_transpose(image)
    alpha = image.convert("RGBA").getchannel("A") if image.has_transparency_data else None
    if profile:
        color = image.convert("RGB") if alpha else image
        color = ImageCms.profileToProfile(color, io.BytesIO(profile), SRGB, outputMode="RGB")
    else:
        color = image.convert("RGBA").convert("RGB") if alpha else image.convert("RGB")
    if alpha is None:
        return color
    white = Image.new("RGB", color.size, "white")
    white.paste(color, mask=alpha)
    return white


def expect(name, image, tolerance=2, profile=None):
    image = shown(image, profile)
    entry = {"width": image.width, "height": image.height, "rgb": base64.b64encode(image.tobytes()).decode()}
    expected[name] = entry | ({"deltaE": 2} if profile else {"tolerance": tolerance})


def save(name, image, tolerance=2, profile=None, **options):
    """Writes a file that Pillow can write, with a profile that Pillow finds again."""
    if profile:
        options["icc_profile"] = profile
    image.save(OUT / name, **options)
    with Image.open(OUT / name) as again:
        assert (again.info.get("icc_profile") == profile) or not profile, name
        if name != "large.webp":
            expect(name, again, tolerance, profile)


def oriented(value):
    exif = Image.Exif()
    exif[0x0112] = value
    return exif


def write(name, data, tolerance=2, profile=None, shows=None):
    (OUT / name).write_bytes(data)
    if shows:
        expect(name, shows, tolerance, profile)
        return
    with Image.open(OUT / name) as again:
        expect(name, again, tolerance, profile)


def riff(chunks):
    body = b"".join(kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2) for kind, data in chunks)
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def saved(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def three(value):
    return struct.pack("<I", value)[:3]


def webp():
    save("lossy.webp", art, quality=90)
    save("lossless.webp", art, lossless=True)
    save("alpha.webp", clear, lossless=True)
    save("lossy-alpha.webp", clear, quality=90)
    save("animated.webp", art, save_all=True, append_images=[ImageOps.invert(art)], lossless=True, duration=100)
    for value in range(1, 9):
        save(f"orientation{value}.webp", art, lossless=True, exif=oriented(value))
    save("display-p3.webp", art, profile=P3_PROFILE, lossless=True)
    save("display-p3-alpha.webp", clear, profile=P3_PROFILE, lossless=True)
    save("large.webp", art.resize((384, 256), Image.Resampling.BICUBIC), quality=20)
    # A first frame that covers a part of its canvas.
    frame = saved(art, "WEBP", lossless=True)[12:]
    canvas = three(39) + three(29)
    animation = three(4) + three(3) + three(W - 1) + three(H - 1) + three(100) + b"\0" + frame
    chunks = [(b"VP8X", b"\x12\0\0\0" + canvas), (b"ANIM", b"\0" * 6), (b"ANMF", animation)]
    whole = Image.new("RGB", (40, 30), "white")
    whole.paste(art, (8, 6))
    write("frame-on-canvas.webp", riff(chunks), shows=whole)


def heif():
    save("full-chroma.heic", art, quality=95, chroma="444")
    save("subsampled.heic", smooth, quality=95)
    save("alpha.heic", clear, quality=95, chroma="444")
    for bits in (10, 12):
        data = b"".join(
            struct.pack("<H", v * 257 >> 16 - bits << 16 - bits) for pixel in art.get_flattened_data() for v in pixel
        )
        pillow_heif.options.SAVE_HDR_TO_12_BIT = bits == 12
        deep = pillow_heif.from_bytes(mode="RGB;16", size=(W, H), data=data)
        name = f"{bits}-bits.heic"
        deep.save(OUT / name, quality=95, chroma="444")
        assert pillow_heif.open_heif(OUT / name, convert_hdr_to_8bit=False).info["bit_depth"] == bits
        with Image.open(OUT / name) as again:
            expect(name, again)
    for value in range(1, 9):
        save(f"orientation{value}.heic", art, quality=95, chroma="444", exif=oriented(value))
    save("display-p3.heic", art, profile=P3_PROFILE, quality=95, chroma="444")
    nclx = {"color_primaries": 12, "transfer_characteristics": 13, "matrix_coefficients": 6, "full_range_flag": 1}
    data = io.BytesIO()
    pillow_heif.from_pillow(art).save(data, quality=95, chroma="444", save_nclx_profile=True, **nclx)
    heic = data.getvalue()
    found = pillow_heif.open_heif(io.BytesIO(heic)).info["nclx_profile"]
    assert found["color_primaries"] == 12 and found["transfer_characteristics"] == 13, found
    write("code-points.heic", heic, profile=P3_PROFILE)
    save("full-chroma.avif", art, quality=95, subsampling="4:4:4")
    save("subsampled.avif", smooth, quality=95)
    save("alpha.avif", clear, quality=95, subsampling="4:4:4")
    save("animated.avif", art, quality=95, subsampling="4:4:4", save_all=True, append_images=[ImageOps.invert(art)])
    for value in (2, 6, 7):
        save(f"orientation{value}.avif", art, quality=95, subsampling="4:4:4", exif=oriented(value))
    save("adobe-rgb.avif", art, profile=ADOBE_PROFILE, quality=95, subsampling="4:4:4")
    gradient = Image.new("RGB", (80, 70))
    gradient.putdata([(60 + x * 2, 200 - y * 2, 80 + x + y) for y in range(70) for x in range(80)])
    write("grid.heic", grid_of_tiles(gradient, 2, 2, 64))
    # Sides that are multiples of 64 are not cropped.
    large = Image.new("RGB", (256, 128), (200, 30, 40))
    heic = pillow_heif.from_pillow(large)
    heic.save(OUT / "thumbnail.heic", quality=50, thumbnails=[128])
    with Image.open(OUT / "thumbnail.heic") as again:
        assert again.info["thumbnails"] == [128]


def box(kind, *bodies):
    body = b"".join(bodies)
    return struct.pack(">I", len(body) + 8) + kind + body


def full_box(kind, *bodies, version=0):
    return box(kind, struct.pack(">I", version << 24), *bodies)


def found_box(file, kind):
    start = file.index(kind) - 4
    return file[start : start + struct.unpack(">I", file[start : start + 4])[0]]


def heif_file(items, references):
    """A HEIC file of items, the first of which is shown: type, data, and properties. References: type, from, to."""
    count, properties, associations = len(items), [], b""
    for number, (_, _, own) in enumerate(items):
        associations += struct.pack(">HB", number + 1, len(own))
        for each in own:
            properties.append(each)
            # Decoders have to understand a configuration.
            associations += bytes([len(properties) | (0x80 if each[4:8] == b"hvcC" else 0)])
    entries = [struct.pack(">HH4sx", number + 1, 0, kind) for number, (kind, _, _) in enumerate(items)]

    def meta(offset):
        places = b""
        for number, (_, data, _) in enumerate(items):
            places += struct.pack(">HHHII", number + 1, 0, 1, offset, len(data))
            offset += len(data)
        links = [box(kind, struct.pack(f">HH{len(to)}H", start, len(to), *to)) for kind, start, to in references]
        return full_box(
            b"meta",
            full_box(b"hdlr", b"\0\0\0\0pict", bytes(13)),
            full_box(b"pitm", struct.pack(">H", 1)),
            full_box(b"iloc", b"\x44\0", struct.pack(">H", count), places),
            full_box(b"iinf", struct.pack(">H", count), *(full_box(b"infe", entry, version=2) for entry in entries)),
            full_box(b"iref", *links),
            box(b"iprp", box(b"ipco", *properties), full_box(b"ipma", struct.pack(">I", count), associations)),
        )

    start = box(b"ftyp", b"heic\0\0\0\0mif1heic")
    return start + meta(len(start) + len(meta(0)) + 8) + box(b"mdat", *(data for _, data, _ in items))


def coded_item(image, size=None, *properties, chroma="444", quality=95):
    """An item of HEVC data, and the size that its header says."""
    data = io.BytesIO()
    pillow_heif.from_pillow(image).save(data, quality=quality, chroma=chroma)
    file = data.getvalue()
    extent = full_box(b"ispe", struct.pack(">II", *(size or image.size)))
    return b"hvc1", found_box(file, b"mdat")[8:], [extent, found_box(file, b"hvcC"), *properties]


def grid_item(size, columns, rows):
    """ISO/IEC 23008-12, section 6.6.2.3.2."""
    return (
        b"grid",
        struct.pack(">BBBBHH", 0, 0, rows - 1, columns - 1, *size),
        [full_box(b"ispe", struct.pack(">II", *size))],
    )


def grid_of_tiles(image, columns, rows, side):
    """A file like those of phones."""
    items = [grid_item(image.size, columns, rows)]
    for row in range(rows):
        for column in range(columns):
            tile = Image.new("RGB", (side, side))
            tile.paste(image, (-column * side, -row * side))
            items.append(coded_item(tile))
    return heif_file(items, [(b"dimg", 1, range(2, len(items) + 1))])


def with_alpha(colors, alpha, alpha_size=None):
    kind = full_box(b"auxC", b"urn:mpeg:hevc:2015:auxid:1\0")
    items = [coded_item(colors), coded_item(alpha, alpha_size, kind, chroma="420")]
    return heif_file(items, [(b"auxl", 2, [1])])


def other_sizes_than_in_their_headers():
    """2048 x 2048 pixels behind a header of 64 x 64, and an alpha channel that is smaller."""
    large = Image.new("RGB", (2048, 2048), (90, 90, 90))
    for kind in ("heic", "avif"):
        data = io.BytesIO()
        if kind == "heic":
            pillow_heif.from_pillow(large).save(data, quality=10)
        else:
            large.save(data, "AVIF", quality=10)
        file, size = data.getvalue(), struct.pack(">II", 2048, 2048)
        assert file.count(b"ispe\0\0\0\0" + size) == 1
        file = file.replace(b"ispe\0\0\0\0" + size, b"ispe\0\0\0\0" + struct.pack(">II", 64, 64))
        (OUT.parent / f"larger-than-its-header.{kind}").write_bytes(file)
    tiles = [grid_item((64, 64), 1, 1), coded_item(large, (64, 64), quality=10)]
    (OUT.parent / "tile-larger-than-its-header.heic").write_bytes(heif_file(tiles, [(b"dimg", 1, [2])]))
    small = large.crop((0, 0, 64, 64))
    (OUT.parent / "alpha-larger-than-its-header.heic").write_bytes(with_alpha(small, large.convert("L"), (64, 64)))
    # Its left half is clear, and its sides are half of what its header says.
    half = Image.new("L", (64, 64))
    half.paste(255, (32, 0, 64, 64))
    colors = Image.new("RGB", (128, 128), (200, 30, 40))
    (OUT.parent / "alpha-smaller-than-its-header.heic").write_bytes(with_alpha(colors, half, (128, 128)))


def gif():
    few = art.quantize(32)
    save("palette.gif", few, interlace=0)
    save("interlaced.gif", few, interlace=1)
    save("gray.gif", art.convert("L"))
    save("transparent.gif", few, transparency=7)
    save("animated.gif", few, save_all=True, append_images=[ImageOps.invert(art).quantize(32)], duration=100)
    # A frame with a palette of its own that covers a part of its canvas.
    plain = saved(few, "GIF", interlace=0)
    colors = 3 << (plain[10] & 7) + 1
    palette, rest = plain[13 : 13 + colors], plain[13 + colors :]
    image = rest[rest.index(b"\x2c") :]
    descriptor = struct.pack("<BHHHHB", 0x2C, 8, 6, W, H, 0x80 | plain[10] & 7)
    control = b"\x21\xf9\x04\0\0\0\0\0"
    file = b"GIF89a" + struct.pack("<HHBBB", 40, 30, 0, 0, 0) + control + descriptor + palette + image[10:]
    whole = Image.new("RGB", (40, 30), "white")
    whole.paste(few.convert("RGB"), (8, 6))
    write("frame-on-canvas.gif", file, shows=whole)


def tiff_file(order, entries, pixels):
    """One uncompressed strip. Entries: tag to type and values."""
    sizes = {3: 2, 4: 4}
    entries = dict(sorted((entries | {273: (4, [8]), 279: (4, [len(pixels)])}).items()))
    start = 8 + len(pixels) + len(pixels) % 2
    far_at = start + 2 + 12 * len(entries) + 4
    directory, far = struct.pack(order + "H", len(entries)), b""
    for tag, (kind, values) in entries.items():
        data = b"".join(struct.pack(order + ("H" if kind == 3 else "I"), v) for v in values)
        if len(data) > 4:
            data, far = struct.pack(order + "I", far_at + len(far)), far + data
        directory += struct.pack(order + "HHI", tag, kind, len(values)) + data.ljust(4, b"\0")
        assert sizes[kind]
    magic = b"II" if order == "<" else b"MM"
    header = magic + struct.pack(order + "HI", 42, start)
    return header + pixels + b"\0" * (len(pixels) % 2) + directory + struct.pack(order + "I", 0) + far


def tiff():
    for kind in ("raw", "tiff_lzw", "packbits", "tiff_adobe_deflate"):
        save(f"{kind}.tiff", art, compression=kind)
    save("jpeg.tiff", smooth, compression="jpeg", quality=95)
    save("gray.tiff", art.convert("L"), compression="tiff_lzw")
    save("black-and-white.tiff", art.convert("1"), compression="group4")
    save("palette.tiff", art.quantize(32), compression="tiff_lzw")
    save("alpha.tiff", clear, compression="tiff_lzw")
    save("two-pages.tiff", art, compression="tiff_lzw", save_all=True, append_images=[ImageOps.invert(art)])
    for value in range(1, 9):
        save(f"orientation{value}.tiff", art, compression="tiff_lzw", tiffinfo={274: value})
    save("display-p3.tiff", art, profile=P3_PROFILE, compression="tiff_lzw")
    save("cmyk.tiff", art.convert("CMYK"), profile=CMYK_PROFILE, compression="tiff_lzw")
    save("gray-gamma.tiff", art.convert("L"), profile=GRAY_PROFILE, compression="tiff_lzw")
    common = {256: (3, [W]), 257: (3, [H]), 259: (3, [1]), 278: (3, [H])}
    for order, name in (("<", "16-bits.tiff"), (">", "16-bits-big-endian.tiff")):
        pixels = b"".join(struct.pack(order + "H", v * 257 - v % 7) for p in art.get_flattened_data() for v in p)
        entries = common | {258: (3, [16, 16, 16]), 262: (3, [2]), 277: (3, [3])}
        write(name, tiff_file(order, entries, pixels), shows=art)
    pixels = b"".join(struct.pack("<H", v * 257) for v in art.convert("L").get_flattened_data())
    entries = common | {258: (3, [16]), 262: (3, [1]), 277: (3, [1])}
    write("16-bits-gray.tiff", tiff_file("<", entries, pixels), shows=art.convert("L"))
    # Floats are refused.
    pixels = b"".join(struct.pack("<f", v / 255) for v in art.convert("L").get_flattened_data())
    entries = common | {258: (3, [32]), 262: (3, [1]), 277: (3, [1]), 339: (3, [3])}
    (OUT / "float.tiff").write_bytes(tiff_file("<", entries, pixels))


def segment(data):
    return b"\xff\xe2" + struct.pack(">H", len(data) + 2) + data


def jpeg():
    options = {"quality": 95, "subsampling": 0}
    save("srgb.jpg", art, profile=SRGB_PROFILE, **options)
    save("display-p3.jpg", art, profile=P3_PROFILE, **options)
    save("adobe-rgb.jpg", art, profile=ADOBE_PROFILE, **options)
    save("table.jpg", art, profile=TABLE_PROFILE, **options)
    save("cmyk.jpg", art.convert("CMYK"), profile=CMYK_PROFILE, quality=95)
    save("gray-gamma.jpg", art.convert("L"), profile=GRAY_PROFILE, quality=95)
    plain = saved(art, "JPEG", **options)
    parts = [P3_PROFILE[:200], P3_PROFILE[200:]]
    # The parts may come in any order.
    segments = [segment(b"ICC_PROFILE\0" + bytes((i + 1, 2)) + parts[i]) for i in (1, 0)]
    write("two-parts.jpg", plain[:2] + b"".join(segments) + plain[2:], profile=P3_PROFILE)
    write("missing-part.jpg", plain[:2] + segments[0] + plain[2:], shows=Image.open(io.BytesIO(plain)))
    broken = P3_PROFILE.replace(b"gTRC", b"xxxx", 1)
    write("broken-profile.jpg", saved(art, "JPEG", icc_profile=broken, **options), shows=Image.open(io.BytesIO(plain)))
    wrong = saved(art, "JPEG", icc_profile=CMYK_PROFILE, **options)
    write("wrong-profile.jpg", wrong, shows=Image.open(io.BytesIO(plain)))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png():
    save("display-p3.png", art, profile=P3_PROFILE)
    save("display-p3-alpha.png", clear, profile=P3_PROFILE)
    cube = Image.new("RGB", (27, 27))
    cube.putdata([(min(255, i % 9 * 32), min(255, i // 9 % 9 * 32), min(255, i // 81 * 32)) for i in range(729)])
    save("cube-display-p3.png", cube, profile=P3_PROFILE)
    save("cube-adobe-rgb.png", cube, profile=ADOBE_PROFILE)
    save("cube-bt2020.png", cube, profile=matrix_profile(BT2020, SRGB_CURVE))
    save("gray-gamma.png", art.convert("L"), profile=GRAY_PROFILE)
    save("orientation6.png", art, exif=oriented(6))
    plain = saved(art, "PNG")

    def insert(*chunks):
        return plain[:33] + b"".join(chunks) + plain[33:]

    def gamma(value):
        return chunk(b"gAMA", struct.pack(">I", round(value * 100000)))

    def primaries(*values):
        return chunk(b"cHRM", b"".join(struct.pack(">I", round(v * 100000)) for v in values))

    p3 = primaries(0.3127, 0.3290, 0.68, 0.32, 0.265, 0.69, 0.15, 0.06)
    write("gamma.png", insert(gamma(1 / 1.8)), profile=matrix_profile(BT709, (0, 1.8)), shows=art)
    write("chromaticities.png", insert(gamma(1 / 1.8), p3), profile=matrix_profile(P3, (0, 1.8)), shows=art)
    write("usual-gamma.png", insert(gamma(0.45455)), shows=art)
    srgb = chunk(b"sRGB", b"\0")
    write("srgb-and-gamma.png", insert(srgb, gamma(1 / 1.8), p3), shows=art)
    cicp = chunk(b"cICP", bytes((9, 13, 0, 1)))
    write("code-points.png", insert(cicp, gamma(1 / 1.8)), profile=matrix_profile(BT2020, SRGB_CURVE), shows=art)
    deflated = zlib.compress(P3_PROFILE)
    write("broken-profile.png", insert(chunk(b"iCCP", b"P3\0\0" + deflated[:-9])), shows=art)


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    for make in (webp, heif, other_sizes_than_in_their_headers, gif, tiff, jpeg, png):
        make()
    (OUT / "expected.json").write_text(json.dumps(expected, indent=0, sort_keys=True) + "\n")
