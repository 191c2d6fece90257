// Puts an image into a catalog and searches for a photo, with fetch.
//
// node search.mjs URL IMAGE PHOTO; LOOKALIKE_KEY has the API key, if the service wants one.

import { readFile } from "node:fs/promises";

const [url, image, photo] = process.argv.slice(2);
const key = process.env.LOOKALIKE_KEY;

async function call(method, path, body, type) {
  const headers = { "Content-Type": type ?? "application/octet-stream" };
  if (key) headers.Authorization = `Bearer ${key}`;
  const answer = await fetch(url + path, { method, body, headers });
  if (answer.status === 204) return null;
  const value = await answer.json();
  if (!answer.ok) throw new Error(`${value.title}: ${value.detail} (${value.code})`);
  return value;
}

await call("PUT", "/v1/catalogs/javascript");
const entity = { title: "The first", attributes: { year: "2026" }, image: (await readFile(image)).toString("base64") };
await call("PUT", "/v1/catalogs/javascript/entities/first", JSON.stringify(entity), "application/json");
const { results } = await call("POST", "/v1/catalogs/javascript/search?limit=5", await readFile(photo));
for (const { entity, confidence, outline } of results) {
  console.log(`${Math.round(confidence * 100)} %  ${entity.title}  ${JSON.stringify(outline)}`);
}
await call("DELETE", "/v1/catalogs/javascript");
