// Puts an image into a catalog and searches for a photo, with the client beside it.
//
// node search.mjs URL IMAGE PHOTO; LOOKALIKE_KEY has the API key, if the service wants one.

import { readFile } from "node:fs/promises";
import process from "node:process";

import { Catalog } from "./lookalike-client.mjs";

const [url, image, photo] = process.argv.slice(2);
const catalog = new Catalog(url, "javascript", { key: process.env.LOOKALIKE_KEY });
await catalog.create();
await catalog.put("first", await readFile(image), { title: "The first", attributes: { year: "2026" } });
for (const { entity, confidence, outline } of await catalog.search(await readFile(photo), { limit: 5 })) {
  console.log(`${Math.round(confidence * 100)} %  ${entity.title}  ${JSON.stringify(outline)}`);
}
await catalog.remove("first");
