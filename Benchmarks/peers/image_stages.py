"""Resizing and decoding to the network's input, beside OpenCV and Pillow."""

import cv2
import numpy as np
from contest import Contest, check, core, timed
from inputs import SCREEN, SIDE
from PIL import Image
from runner import Ours

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)


def normalized(rgb):
    """(side, side, 3) bytes to the network's input, (3, side, side)."""
    return np.ascontiguousarray((rgb.astype(np.float32) * (1 / (255 * STD)) - MEAN / STD).transpose(2, 0, 1))


def difference(ours, theirs):
    """Mean absolute difference of two network inputs, in steps of 8 bits; ours is interleaved."""
    ours = np.asarray(ours, np.float32).reshape(SIDE, SIDE, 3).transpose(2, 0, 1)
    return float(np.abs((ours - theirs) * STD[:, None, None] * 255).mean())


def resize(program, inputs, limits):
    width, height = SCREEN
    ours = Ours(
        program,
        "resize",
        core=core(1),
        files={"pixels": str(inputs.screen())},
        numbers={"width": width, "height": height},
    )
    reader = Ours(program, "read", core=core(1), files={"bytes": str(inputs.screen())})
    pixels = np.fromfile(inputs.screen(), np.uint8).reshape(height, width, 4)
    # Four channels without alpha: Pillow neither copies nor premultiplies them.
    image = Image.frombuffer("RGBX", (width, height), pixels, "raw", "RGBX", 0, 1)
    cv2.setNumThreads(1)

    def opencv():
        return normalized(cv2.resize(pixels, (SIDE, SIDE), interpolation=cv2.INTER_AREA)[:, :, 2::-1])

    def pillow(filter, gap=None):
        return normalized(np.asarray(image.resize((SIDE, SIDE), filter, reducing_gap=gap))[:, :, 2::-1])

    reference = pillow(Image.BILINEAR)
    ours()
    found = difference(ours.result(), reference)
    check(found < 1, f"resize: {found} steps of 8 bits from Pillow's bilinear filter")
    contest = Contest(
        "Resize 5120×2880 BGRA to the network's input",
        "ms",
        1,
        {"Lookalike": ours, "reading the buffer once": reader},
        {
            "OpenCV INTER_AREA": timed(opencv),
            "Pillow BOX": timed(lambda: pillow(Image.BOX)),
            "Pillow BILINEAR, reducing_gap=2": timed(lambda: pillow(Image.BILINEAR, 2)),
        },
        agreement=f"mean difference from Pillow's bilinear filter: {found:.2f} of 255"
        f" (OpenCV's area filter: {difference(opencv().transpose(1, 2, 0), reference):.2f})",
    )
    return contest, [ours, reader]


def decode(program, inputs, limits):
    return decoding(program, inputs.photo(), "with grain")


def decode_smooth(program, inputs, limits):
    return decoding(program, inputs.smooth_photo(), "without grain")


def decoding(program, path, kind):
    ours = Ours(program, "decode", core=core(1), files={"image": str(path)})
    cv2.setNumThreads(1)

    def opencv(flag):
        return normalized(
            cv2.resize(cv2.imread(str(path), flag), (SIDE, SIDE), interpolation=cv2.INTER_AREA)[:, :, ::-1]
        )

    def pillow():
        with Image.open(path) as image:
            image.draft("RGB", (SIDE * 2, SIDE * 2))
            return normalized(np.asarray(image.convert("RGB").resize((SIDE, SIDE), Image.BILINEAR)))

    with Image.open(path) as image:
        reference = normalized(np.asarray(image.convert("RGB").resize((SIDE, SIDE), Image.BILINEAR)))
    ours()
    found = difference(ours.result(), reference)
    check(found < 2.5, f"decode: {found} steps of 8 bits from Pillow's full decoding")
    contest = Contest(
        f"12-megapixel JPEG file {kind} ({path.stat().st_size / 1e6:.1f} MB) to the network's input",
        "ms",
        1,
        {"Lookalike": ours},
        {
            "OpenCV, full decoding": timed(lambda: opencv(cv2.IMREAD_COLOR)),
            "OpenCV, reduced decoding": timed(lambda: opencv(cv2.IMREAD_REDUCED_COLOR_8)),
            "Pillow, draft mode": timed(pillow),
        },
        agreement=f"mean difference from full decoding and Pillow's bilinear filter: {found:.2f} of 255"
        f" (Pillow's draft mode: {difference(pillow().transpose(1, 2, 0), reference):.2f})",
    )
    return contest, [ours]
