"""A client of the service with Python's standard library alone.

Copy this file:

    shop = Catalog("http://127.0.0.1:8700", "shop", key="…")
    shop.create()
    shop.put("mug", Path("mug.jpg").read_bytes(), title="Mug", attributes={"price": "12"})
    for match in shop.search(photo, filter="price < 20"):
        print(f"{match.entity.title}, {match.confidence:.0%}")

Python 3.10 or later. Mypy checks its types.
"""

from __future__ import annotations

import json
import math
import random
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Entity:
    """What a catalog holds, such as a product."""

    id: str
    title: str | None = None
    subtitle: str | None = None
    type: str | None = None
    labels: list[str] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    thumbnail: str = ""  # The path of a JPEG file on the service, or its URL.

    @classmethod
    def of(cls, json: dict[str, Any]) -> Entity:
        return cls(**{name: json[name] for name in cls.__dataclass_fields__ if name in json})


@dataclass(frozen=True)
class Image:
    """One of the images of an entity."""

    id: str  # It keeps this name when others are removed.
    thumbnail: str


@dataclass(frozen=True)
class Match:
    """An entity that a photo shows."""

    entity: Entity
    confidence: float
    outline: list[tuple[float, float]] | None  # Corners as fractions of the photo's sides; None if it is not known.


class Problem(Exception):
    """What the service answers instead of a result. Its `code` is stable, such as "unknown-entity"."""

    def __init__(self, status: int, code: str, title: str, detail: str) -> None:
        super().__init__(f"{title}: {detail} ({code})")
        self.status, self.code, self.title, self.detail = status, code, title, detail


class Catalog:
    """A catalog of a service. Methods raise `Problem`, or `OSError` if the service cannot be reached."""

    def __init__(self, url: str, name: str, key: str | None = None, patience: float = 30) -> None:
        """With `patience`, the seconds for which a request waits and is sent again while the service is busy."""
        self.root, self.base = url.rstrip("/"), f"/v1/catalogs/{urllib.parse.quote(name, safe='')}"
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.patience = patience

    def create(self) -> None:
        """Makes the catalog, unless it is there."""
        self._send("PUT", "")

    def search(self, photo: bytes, limit: int = 10, filter: str | None = None, **options: str | float) -> list[Match]:
        """The entities that a photo shows, surest first: none if it shows no entity of the catalog.

        `filter` is a condition such as "type = mug and price < 20". `options` are parameters of the service's search,
        such as `min_confidence=0`, with which all entities are ranked.
        """
        fields = {name.replace("_", "-"): value for name, value in options.items()}
        answer = self._send("POST", "/search", {"limit": limit, "filter": filter, **fields}, photo)
        return [
            Match(
                Entity.of(result["entity"]),
                result["confidence"],
                [(x, y) for x, y in result["outline"]] if "outline" in result else None,
            )
            for result in answer["results"]
        ]

    def put(
        self,
        id: str,
        image: bytes,
        title: str | None = None,
        subtitle: str | None = None,
        type: str | None = None,
        labels: Sequence[str] = (),
        attributes: Mapping[str, str] | None = None,
    ) -> Entity:
        """Adds an entity, or replaces it. When this returns, it is durable and found. Labels have no commas."""
        texts = {"title": title, "subtitle": subtitle, "type": type, "labels": ",".join(labels) or None}
        fields = texts | {f"attribute.{name}": value for name, value in (attributes or {}).items()}
        return Entity.of(self._send("PUT", self._path(id), fields, image))

    def get(self, id: str) -> Entity:
        """An entity."""
        return Entity.of(self._send("GET", self._path(id)))

    def update(self, id: str, **changes: object) -> Entity:
        """Changes metadata: `update("mug", title="Cup", attributes={"price": "9"})`; None removes a value."""
        body = json.dumps(changes).encode()
        return Entity.of(self._send("PATCH", self._path(id), body=body, kind="application/merge-patch+json"))

    def remove(self, id: str) -> None:
        """Removes an entity."""
        self._send("DELETE", self._path(id))

    def entities(self, filter: str | None = None) -> Iterator[Entity]:
        """The entities that pass a filter, or all of them."""
        fields: dict[str, str | float | None] = {"filter": filter, "limit": 1000}
        while True:
            page = self._send("GET", "/entities", fields)
            yield from map(Entity.of, page["entities"])
            if "next" not in page:
                return
            fields["cursor"] = page["next"]

    def images(self, id: str) -> list[Image]:
        """The images of an entity, in order."""
        return self._images(self._send("GET", f"{self._path(id)}/images"))

    def add_image(self, id: str, image: bytes) -> list[Image]:
        """Adds an image to those of an entity, unless it has it, and returns all."""
        return self._images(self._send("POST", f"{self._path(id)}/images", body=image))

    def remove_image(self, id: str, image: Image) -> list[Image]:
        """Removes an image of an entity, but not its last one, and returns the others."""
        return self._images(self._send("DELETE", f"{self._path(id)}/images/{image.id}"))

    @staticmethod
    def _images(answer: Any) -> list[Image]:
        return [Image(image["id"], image["thumbnail"]) for image in answer["images"]]

    @staticmethod
    def _path(id: str) -> str:
        return f"/entities/{urllib.parse.quote(id, safe='')}"

    def _send(
        self,
        method: str,
        path: str,
        fields: Mapping[str, str | float | None] | None = None,
        body: bytes | None = None,
        kind: str = "application/octet-stream",
    ) -> Any:
        query = urllib.parse.urlencode({name: value for name, value in (fields or {}).items() if value is not None})
        url = self.root + self.base + path + (f"?{query}" if query else "")
        headers = self.headers | ({"Content-Type": kind} if body is not None else {})
        end = time.monotonic() + self.patience
        while True:
            request = urllib.request.Request(url, body, headers, method=method)
            try:
                with urllib.request.urlopen(request, timeout=120) as answer:
                    content = answer.read()
                    return json.loads(content) if content else None
            except urllib.error.HTTPError as error:
                seconds = error.headers.get("Retry-After", "")
                # Not all at once: those who were refused together would be refused together again.
                wait = int(seconds) * random.uniform(1, 1.5) if seconds.isdigit() else math.inf
                if error.code in (429, 503) and time.monotonic() + wait <= end:
                    time.sleep(wait)
                    continue
                raise self._problem(error) from None

    @staticmethod
    def _problem(error: urllib.error.HTTPError) -> Problem:
        content = error.read()
        if error.headers.get_content_type() != "application/problem+json":
            # A proxy in between answers.
            return Problem(error.code, "no-answer", error.reason, content[:200].decode(errors="replace"))
        problem = json.loads(content)
        return Problem(error.code, problem["code"], problem["title"], problem["detail"])
