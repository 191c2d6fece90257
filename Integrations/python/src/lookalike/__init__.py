"""Visual search on the CPU: which image of a catalog does a photo or screenshot show?

`Engine` makes feature prints, local features and thumbnails of images, in a process of the program `lookalike` for
millions of them; `Catalog` indexes and searches a folder of them, in this process.

    import lookalike

    with lookalike.Engine() as engine:
        prints = engine.embed(["a.jpg", "b.jpg"])           # float32, one row per image
        distances = ((prints[0] - prints[1]) ** 2).sum() ** 0.5

    catalog = lookalike.Catalog("catalog/")
    catalog.index("covers/")
    for match in catalog.search("photo.jpg"):
        print(match.id, match.confidence)

`ExactSearch`, `InvertedFile`, `distances` and `resize` are for arrays, in this process:

    rows, distances = lookalike.ExactSearch(prints).nearest(queries, k=10)
"""

from lookalike._arrays import ExactSearch, InvertedFile, Neighbors, distances, resize
from lookalike._catalog import Catalog, Duplicate, DuplicateGroup, IndexReport, Match
from lookalike._engine import Computed, Engine
from lookalike._errors import ImageError, LookalikeError
from lookalike._images import ImageSource
from lookalike._prints import PrintReport

__all__ = [
    "Catalog",
    "Computed",
    "Duplicate",
    "DuplicateGroup",
    "Engine",
    "ExactSearch",
    "ImageError",
    "ImageSource",
    "IndexReport",
    "InvertedFile",
    "LookalikeError",
    "Match",
    "Neighbors",
    "PrintReport",
    "distances",
    "resize",
]

__version__ = "0.1.0"
