// Uses the client that openapi-generator makes of the service's description with “typescript-fetch”.
//
// deno run generated.ts URL IMAGE PHOTO
import {
  CatalogsApi, Configuration, EntitiesApi, type Problem, ProblemFromJSON, ResponseError, SearchApi,
} from "./generated-client";

declare const Deno: { args: string[]; readFile(path: string): Promise<Uint8Array<ArrayBuffer>> };

function check(holds: unknown, ...what: unknown[]): asserts holds {
  if (!holds) throw new Error(JSON.stringify(what));
}

async function problem(call: Promise<unknown>): Promise<Problem> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ResponseError) return ProblemFromJSON(await error.response.json());
    throw error;
  }
  throw new Error("the call is answered");
}

async function main() {
  const [url, image, photo] = Deno.args;
  const file = async (path: string) => new Blob([await Deno.readFile(path)]);
  const configuration = new Configuration({ basePath: url });
  const catalogs = new CatalogsApi(configuration);
  const entities = new EntitiesApi(configuration);
  const searching = new SearchApi(configuration);
  const catalog = "generated-ts";

  await catalogs.putCatalog({ catalog });
  const put = { catalog, id: "a/1", body: await file(image), title: "The first", attributes: { "attribute.price": "12" } };
  const entity = await entities.putEntity(put);
  check(entity.attributes.price === "12", entity);
  await entities.putEntity({ catalog, id: "2", body: await file(image), attributes: { "attribute.price": "30" } });

  const { results } = await searching.search({ catalog, body: await file(photo), filter: "price < 20", limit: 5 });
  check(results.length === 1 && results[0].outline?.length === 4, results);
  const { title, id } = results[0].entity;
  check(title === "The first" && id === "a/1", results);
  const changed = await entities.patchEntity({ catalog, id: "2", entityPatch: { title: "Another", subtitle: null } });
  check(changed.title === "Another" && changed.attributes.price === "30", changed);
  const page = await entities.listEntities({ catalog, filter: "price > 20" });
  check(page.entities.length === 1 && page.entities[0].id === "2", page);
  const thumbnail = await entities.getThumbnail({ catalog, id });
  check(new Uint8Array(await thumbnail.arrayBuffer())[0] === 0xff);
  const lines = await entities.putEntities({ catalog, body: new Blob(['{"id": "2", "delete": true}\n']) });
  check((await lines.text()).includes('"status":204'));
  const restored = await catalogs.restoreCatalog({ catalog, body: await catalogs.snapshotCatalog({ catalog }) });
  check(restored.entities === 1, restored);

  const missing = await problem(entities.getEntity({ catalog, id: "2" }));
  check(missing.code === "unknown-entity" && missing.status === 404, missing);
  const bad = await problem(searching.search({ catalog, body: new Blob(["no image"]) }));
  check(bad.code === "unsupported-image", bad);
  await catalogs.deleteCatalog({ catalog });
  console.log(`${title}, by a client that openapi-generator made`);
}

main();
