"""Pictures in notebooks."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Sequence
from typing import Any

from lookalike._images import png
from lookalike._model import image_handle, image_size, resized

# The long side of the query, in pixels.
_LARGEST = 512
_COLORS = ("#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#00a3a3")
_FIGURE = "margin:0;max-width:170px;overflow-wrap:anywhere;font-size:12px"


def row(figures: Iterable[str]) -> str:
    """Figures side by side."""
    return (
        '<div style="display:flex;flex-wrap:wrap;gap:12px;align-items:flex-start;margin:6px 0">'
        + "".join(figures)
        + "</div>"
    )


def figure(thumbnail: bytes | None, name: str, words: Iterable[Any], color: int | None = None) -> str:
    """A thumbnail, a JPEG file, with the name and the words that there are; `color` is that of its outline."""
    border = "" if color is None else f";border:3px solid {_COLORS[color % len(_COLORS)]}"
    size = f"height:140px;max-width:100%;object-fit:contain;display:block{border}"
    picture = f'<div style="{size};width:140px;background:#8884"></div>'
    if thumbnail is not None:
        picture = f'<img alt="" style="{size}" src="{_data(thumbnail, "jpeg")}">'
    lines = [f"<b>{html.escape(name)}</b>", *(html.escape(str(word)) for word in words if word)]
    return f'<figure style="{_FIGURE}">{picture}<figcaption>{"<br>".join(lines)}</figcaption></figure>'


def outlined(image: Any, outlines: Sequence[tuple[tuple[float, float], ...] | None]) -> str:
    """An image with outlines over it, in its pixels."""
    with image_handle(image) as handle:
        width, height = image_size(handle)
        scale = min(1, _LARGEST / max(width, height))
        pixels = resized(handle, max(1, round(width * scale)), max(1, round(height * scale)))
    try:
        from PIL import Image

        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "JPEG", quality=85)
        source = _data(file.getvalue(), "jpeg")
    except ImportError:
        source = _data(png(pixels, level=6), "png")
    shapes = "".join(
        f'<polygon fill="none" stroke="{_COLORS[number % len(_COLORS)]}" stroke-width="3" '
        f'vector-effect="non-scaling-stroke" points="{" ".join(f"{x:g},{y:g}" for x, y in outline)}"/>'
        for number, outline in enumerate(outlines)
        if outline
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{pixels.shape[1]}" '
        f'height="{pixels.shape[0]}" style="max-width:100%"><image width="{width}" height="{height}" '
        f'preserveAspectRatio="none" href="{source}"/>{shapes}</svg>'
    )


def _data(contents: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(contents).decode()}"
