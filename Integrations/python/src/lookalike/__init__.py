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
from lookalike._catalog import Catalog, Decision, Evaluation, Figures, IndexReport, Note
from lookalike._conditions import Condition, Field, field, has_code, near
from lookalike._engine import Computed, Engine, Label
from lookalike._errors import ImageError, LookalikeError
from lookalike._images import ImageSource
from lookalike._prints import PrintReport
from lookalike._results import Duplicate, DuplicateGroup, DuplicateGroups, Entities, Match, Matches

__all__ = [
    "Catalog",
    "Computed",
    "Condition",
    "Decision",
    "Duplicate",
    "DuplicateGroup",
    "DuplicateGroups",
    "Engine",
    "Entities",
    "Evaluation",
    "ExactSearch",
    "Field",
    "Figures",
    "ImageError",
    "ImageSource",
    "IndexReport",
    "InvertedFile",
    "Label",
    "LookalikeError",
    "Match",
    "Matches",
    "Neighbors",
    "Note",
    "PrintReport",
    "distances",
    "field",
    "has_code",
    "near",
    "resize",
]

__version__ = "0.1.0"
