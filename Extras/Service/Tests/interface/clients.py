"""Tests the client of Examples/lookalike_client.py.

clients.py URL IMAGE PHOTO LIMITED: two services, of which the second takes few requests a second.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from lookalike_client import Catalog, Problem

url, image, photo, limited = sys.argv[1], Path(sys.argv[2]).read_bytes(), Path(sys.argv[3]).read_bytes(), sys.argv[4]


def code(call: Callable[[], object]) -> tuple[int, str]:
    """The status and the code of the problem that a call has."""
    try:
        call()
    except Problem as problem:
        assert problem.code in str(problem) and problem.title in str(problem)
        return problem.status, problem.code
    raise AssertionError("no problem")


shop = Catalog(url + "/", "client-python")
assert code(lambda: shop.search(photo)) == (404, "unknown-catalog")
shop.create()
shop.create()
entity = shop.put("a/1 é", image, title="The & first", type="mug", labels=["blue", "new"], attributes={"price": "12"})
assert (entity.title, entity.labels, entity.attributes) == ("The & first", ["blue", "new"], {"price": "12"})
assert shop.get("a/1 é") == entity
shop.put("b", image)
assert {match.entity.id for match in shop.search(photo)} == {"a/1 é", "b"}
(match,) = shop.search(photo, limit=1, filter="price < 20", min_confidence=0.5)
assert match.entity == entity and match.confidence > 0.5 and match.outline is not None and len(match.outline) == 4
changed = shop.update("a/1 é", title=None, attributes={"price": "30"})
assert changed.title is None and changed.attributes == {"price": "30"} and changed.labels == entity.labels
assert shop.search(photo, filter="price < 20") == []
assert [entity.id for entity in shop.entities("price > 20")] == ["a/1 é"]
assert [entity.id for entity in shop.entities()] == ["a/1 é", "b"]
(front,) = shop.images("a/1 é")
assert shop.add_image("a/1 é", image) == [front]
both = shop.add_image("a/1 é", photo)
assert both[0] == front and len(both) == 2 and both[1].thumbnail != front.thumbnail
assert shop.remove_image("a/1 é", front) == both[1:]
assert code(lambda: shop.remove_image("a/1 é", front)) == (404, "unknown-image")
assert code(lambda: shop.remove_image("a/1 é", both[1])) == (409, "last-image")
shop.remove("b")
assert code(lambda: shop.get("b")) == (404, "unknown-entity")
assert code(lambda: shop.search(b"no image")) == (415, "unsupported-image")
assert code(lambda: list(shop.entities("price <"))) == (400, "invalid-request")

# A busy service is asked again when it says, unless that would be too late.
slow = Catalog(limited, "client-python")
slow.create()
for _ in range(12):
    assert list(slow.entities()) == []
hasty = Catalog(limited, "client-python", patience=0)
assert code(lambda: [list(hasty.entities()) for _ in range(12)]) == (429, "rate-limited")
print("The first, and all else that the client for Python does")
