// @ts-check
// Tests the client of Examples/lookalike-client.mjs; its types are checked, too.
//
// clients.mjs URL IMAGE PHOTO LIMITED: two services, of which the second takes few requests a second.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import process from "node:process";

import { Catalog, Problem } from "../../Examples/lookalike-client.mjs";

const [url, image, photo, limited] = process.argv.slice(2);
const [cover, query] = [await readFile(image), await readFile(photo)];

/**
 * The status and the code of the problem that a call has.
 * @param {Promise<unknown>} call
 */
async function code(call) {
  try {
    await call;
  } catch (error) {
    if (error instanceof Problem) return [error.status, error.code];
    throw error;
  }
  throw new Error("no problem");
}

/** @param {AsyncIterable<{ id: string }>} entities */
async function ids(entities) {
  const found = [];
  for await (const entity of entities) found.push(entity.id);
  return found;
}

const shop = new Catalog(`${url}/`, "client-javascript");
assert.deepEqual(await code(shop.search(query)), [404, "unknown-catalog"]);
await shop.create();
await shop.create();
const metadata = { title: "The & first", type: "mug", labels: ["blue", "new"], attributes: { price: "12" } };
const entity = await shop.put("a/1 é", cover, metadata);
assert.deepEqual([entity.title, entity.labels, entity.attributes], ["The & first", ["blue", "new"], { price: "12" }]);
assert.deepEqual(await shop.get("a/1 é"), entity);
await shop.put("b", new Blob([new Uint8Array(cover)]));
assert.equal((await shop.search(query)).length, 2);
const matches = await shop.search(new Blob([new Uint8Array(query)]), { limit: 1, filter: "price < 20", minConfidence: 0.5 });
assert.deepEqual(matches.map((match) => match.entity), [entity]);
assert.equal(matches[0].outline?.length, 4);
const changed = await shop.update("a/1 é", { title: null, attributes: { price: "30" } });
assert.deepEqual([changed.title, changed.attributes, changed.labels], [undefined, { price: "30" }, entity.labels]);
assert.deepEqual(await shop.search(query, { filter: "price < 20" }), []);
assert.deepEqual(await ids(shop.entities("price > 20")), ["a/1 é"]);
assert.deepEqual(await ids(shop.entities()), ["a/1 é", "b"]);
const [front] = await shop.images("a/1 é");
assert.deepEqual(await shop.addImage("a/1 é", cover), [front]);
const both = await shop.addImage("a/1 é", query);
assert.deepEqual([both.length, both[0]], [2, front]);
assert.deepEqual(await shop.removeImage("a/1 é", front), both.slice(1));
assert.deepEqual(await code(shop.removeImage("a/1 é", front)), [404, "unknown-image"]);
assert.deepEqual(await code(shop.removeImage("a/1 é", both[1])), [409, "last-image"]);
await shop.remove("b");
assert.deepEqual(await code(shop.get("b")), [404, "unknown-entity"]);
assert.deepEqual(await code(shop.search(new Blob(["no image"]))), [415, "unsupported-image"]);
assert.deepEqual(await code(ids(shop.entities("price <"))), [400, "invalid-request"]);

// A busy service is asked again when it says, unless that would be too late.
const slow = new Catalog(limited, "client-javascript");
await slow.create();
for (let count = 0; count < 12; count += 1) assert.deepEqual(await ids(slow.entities()), []);
const hasty = new Catalog(limited, "client-javascript", { patience: 0 });
const hurry = async () => {
  for (let count = 0; count < 12; count += 1) await ids(hasty.entities());
};
assert.deepEqual(await code(hurry()), [429, "rate-limited"]);
console.log("The first, and all else that the client for JavaScript does");
