#!/usr/bin/env python3
"""Makes the documentation's pictures of the notebook again. Needs what the notebook does, nbclient and Chromium."""

import pathlib
import subprocess
import tempfile

import nbformat
from nbclient import NotebookClient
from PIL import Image, ImageChops

HERE = pathlib.Path(__file__).parent
RESOURCES = HERE.parent.parent / "Sources/Lookalike/Lookalike.docc/Resources"
# What a cell has that shows the picture.
PICTURES = {"notebook-entities": "between", "notebook-match": "photo-1.jpg", "notebook-duplicates": "duplicates()"}


def picture(page: str, folder: pathlib.Path) -> Image.Image:
    """A page as Chromium shows it, without the white around."""
    (folder / "page.html").write_text(f"<!DOCTYPE html><meta charset=utf-8><body style='font-family:sans-serif'>{page}")
    browser = ["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--force-device-scale-factor=1.5"]
    shot = folder / "page.png"
    subprocess.run(
        [*browser, "--window-size=800,1200", f"--screenshot={shot}", f"file://{folder}/page.html"], check=True
    )
    image = Image.open(shot).convert("RGB")
    left, top, right, bottom = ImageChops.difference(image, Image.new("RGB", image.size, "white")).getbbox()
    return image.crop((left - 8, top - 8, right + 8, bottom + 8))


notebook = nbformat.read(HERE / "covers.ipynb", as_version=4)
NotebookClient(notebook, resources={"metadata": {"path": HERE}}).execute()
for name, words in PICTURES.items():
    cell = next(cell for cell in notebook.cells if cell.cell_type == "code" and words in cell.source)
    (page,) = (output.data["text/html"] for output in cell.outputs if "text/html" in output.get("data", {}))
    with tempfile.TemporaryDirectory() as folder:
        RESOURCES.mkdir(exist_ok=True)
        picture(page, pathlib.Path(folder)).save(RESOURCES / f"{name}.jpg", quality=85)
