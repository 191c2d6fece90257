"""Uses the client that openapi-python-client makes of the service's description.

generated.py URL IMAGE PHOTO
"""

import io
import sys
from pathlib import Path

from generated_client import Client
from generated_client.api.catalogs import delete_catalog, put_catalog, restore_catalog, snapshot_catalog
from generated_client.api.entities import (
    get_entity,
    get_thumbnail,
    list_entities,
    patch_entity,
    put_entities,
    put_entity,
)
from generated_client.api.search import search
from generated_client.models import (
    Catalog,
    Entity,
    EntityForm,
    EntityPage,
    EntityPatch,
    Problem,
    PutEntityAttributes,
    Search,
    SearchAnswer,
    SearchForm,
)
from generated_client.types import UNSET, File

url, image, photo = sys.argv[1], Path(sys.argv[2]).read_bytes(), Path(sys.argv[3]).read_bytes()
client = Client(base_url=url)


def file(data: bytes) -> File:
    return File(payload=io.BytesIO(data), file_name="image.jpg", mime_type="image/jpeg")


def found(answer: SearchAnswer | Problem | None) -> str:
    """The title of the match."""
    assert isinstance(answer, SearchAnswer), answer
    return str(answer.results[0].entity.title) if answer.results else "nothing"


assert isinstance(put_catalog.sync("generated", client=client), Catalog)
price = PutEntityAttributes.from_dict({"attribute.price": "12"})
entity = put_entity.sync("generated", "a/1", client=client, body=file(image), title="The first", attributes=price)
assert isinstance(entity, Entity) and entity.attributes["price"] == "12", entity
form = EntityForm(image=file(image), title="The second")
form["attribute.price"] = "30"
assert isinstance(put_entity.sync("generated", "2", client=client, body=form), Entity)

by_photo = search.sync("generated", client=client, body=file(photo), filter_="price < 20", limit=1)
assert found(by_photo) == "The first", by_photo
by_form = search.sync("generated", client=client, body=SearchForm(image=file(photo), limit=5))
assert isinstance(by_form, SearchAnswer) and len(by_form.results) == 2, by_form
# Nothing is sent that was not set: the service refuses the number of objects without an image.
assert found(search.sync("generated", client=client, body=Search(text="first"))) == "The first"
assert isinstance(by_photo, SearchAnswer) and by_photo.query is not UNSET
assert found(search.sync("generated", client=client, body=Search(query=by_photo.query, filter_="price < 20")))

patch = EntityPatch(title="Another")
changed = patch_entity.sync("generated", "2", client=client, body=patch)
assert isinstance(changed, Entity) and changed.title == "Another" and changed.attributes["price"] == "30", changed
page = list_entities.sync("generated", client=client, filter_="price > 20")
assert isinstance(page, EntityPage) and [entity.id for entity in page.entities] == ["2"], page
thumbnail = get_thumbnail.sync("generated", "2", client=client)
assert isinstance(thumbnail, File) and thumbnail.payload.read(2) == b"\xff\xd8"
lines = File(payload=io.BytesIO(b'{"id": "2", "delete": true}\n'))
results = put_entities.sync("generated", client=client, body=lines)
assert isinstance(results, File) and b'"status":204' in results.payload.read(), results
archive = snapshot_catalog.sync("generated", client=client)
assert isinstance(archive, File)
restored = restore_catalog.sync("generated", client=client, body=archive)
assert isinstance(restored, Catalog) and restored.entities == 1, restored

problem = get_entity.sync("generated", "2", client=client)
assert isinstance(problem, Problem) and (problem.code, problem.status) == ("unknown-entity", 404), problem
problem = search.sync("generated", client=client, body=file(b"no image"))
assert isinstance(problem, Problem) and problem.code == "unsupported-image", problem
delete_catalog.sync("generated", client=client)
print(f"{found(by_photo)}, by a client that openapi-python-client made")
