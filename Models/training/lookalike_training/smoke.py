"""Generated images, so that the recipe can be run where there is no data."""

import numpy as np
from PIL import Image, ImageDraw


def generated_folder(folder, count=96, seed=5):
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    for index in range(count):
        width, height = (int(v) for v in random.integers(80, 200, 2))
        image = Image.new("RGB", (width, height), tuple(int(v) for v in random.integers(0, 256, 3)))
        draw = ImageDraw.Draw(image)
        for _ in range(int(random.integers(4, 12))):
            x, y = random.integers(0, width), random.integers(0, height)
            w, h = random.integers(8, 90, 2)
            shape = draw.ellipse if random.random() < 0.5 else draw.rectangle
            shape([int(x), int(y), int(x + w), int(y + h)], fill=tuple(int(v) for v in random.integers(0, 256, 3)))
        image.save(folder / f"{index:04}.png")
    return folder
