// @ts-check
// A client of the service, for browsers, Node.js and Deno. Copy this file:
//
//   const shop = new Catalog("http://127.0.0.1:8700", "shop", { key });
//   await shop.create();
//   await shop.put("mug", await readFile("mug.jpg"), { title: "Mug", attributes: { price: "12" } });
//   for (const { entity, confidence } of await shop.search(photo, { filter: "price < 20" })) { … }
//
// TypeScript checks its types.

/**
 * What a catalog holds, such as a product. `thumbnail` is the path of a JPEG file on the service, or its URL.
 * @typedef {object} Entity
 * @property {string} id
 * @property {string} [title]
 * @property {string} [subtitle]
 * @property {string} [type]
 * @property {string[]} labels
 * @property {Record<string, string>} attributes
 * @property {string} thumbnail
 */

/**
 * One of the images of an entity. It keeps its id when others are removed.
 * @typedef {{ id: string, thumbnail: string }} EntityImage
 */

/**
 * An entity that a photo shows. `outline` has its corners as fractions of the photo's sides, where they are known.
 * @typedef {{ entity: Entity, confidence: number, outline?: [number, number][] }} Match
 */

/** @typedef {Blob | ArrayBuffer | Uint8Array} Bytes */

/**
 * Parameters of a search. `filter` is a condition such as "type = mug and price < 20"; with `minConfidence: 0` all
 * entities are ranked.
 * @typedef {{ limit?: number, filter?: string, minConfidence?: number, effort?: "prints" | "standard" }}
 *   SearchOptions
 */

/**
 * Metadata of an entity.
 * @typedef {Partial<Pick<Entity, "title" | "subtitle" | "type" | "labels" | "attributes">>} Metadata
 */

/** What the service answers instead of a result. Its `code` is stable, such as "unknown-entity". */
export class Problem extends Error {
  /**
   * @param {number} status
   * @param {{ code: string, title: string, detail: string }} body
   */
  constructor(status, { code, title, detail }) {
    super(`${title}: ${detail} (${code})`);
    this.name = "Problem";
    this.status = status;
    this.code = code;
    this.title = title;
    this.detail = detail;
  }
}

/** A catalog of a service. Methods throw `Problem`, or what `fetch` throws if the service cannot be reached. */
export class Catalog {
  /**
   * @param {string} url the service; in a page of the same site a path, such as "/search/"
   * @param {string} name
   * @param {{ key?: string, patience?: number }} [options] `patience` is for how many seconds a request waits and is
   *   sent again while the service is busy
   */
  constructor(url, name, { key, patience = 30 } = {}) {
    this.base = `${url.replace(/\/$/, "")}/v1/catalogs/${encodeURIComponent(name)}`;
    this.key = key;
    this.patience = patience;
  }

  /** Makes the catalog, unless it is there. */
  async create() {
    await this.#send("PUT", "");
  }

  /**
   * The entities that a photo shows, surest first: none if it shows no entity of the catalog.
   * @param {Bytes} photo
   * @param {SearchOptions} [options]
   * @returns {Promise<Match[]>}
   */
  async search(photo, { limit, filter, minConfidence, effort } = {}) {
    const fields = { limit, filter, "min-confidence": minConfidence, effort };
    return (await this.#send("POST", "/search", fields, photo)).results;
  }

  /**
   * Adds an entity, or replaces it. When this returns, it is durable and found. Labels have no commas.
   * @param {string} id
   * @param {Bytes} image
   * @param {Metadata} [metadata]
   * @returns {Promise<Entity>}
   */
  async put(id, image, { labels = [], attributes = {}, ...texts } = {}) {
    /** @type {Record<string, string | undefined>} */
    const fields = { ...texts, labels: labels.join(",") || undefined };
    for (const [name, value] of Object.entries(attributes)) fields[`attribute.${name}`] = value;
    return this.#send("PUT", Catalog.#path(id), fields, image);
  }

  /**
   * An entity.
   * @param {string} id
   * @returns {Promise<Entity>}
   */
  async get(id) {
    return this.#send("GET", Catalog.#path(id));
  }

  /**
   * Changes metadata: `update("mug", { title: "Cup", attributes: { price: "9" } })`; null removes a value.
   * @param {string} id
   * @param {{ [Name in keyof Metadata]: Metadata[Name] | null | Record<string, string | null> }} changes
   * @returns {Promise<Entity>}
   */
  async update(id, changes) {
    return this.#send("PATCH", Catalog.#path(id), {}, JSON.stringify(changes), "application/merge-patch+json");
  }

  /**
   * Removes an entity.
   * @param {string} id
   */
  async remove(id) {
    await this.#send("DELETE", Catalog.#path(id));
  }

  /**
   * The entities that pass a filter, or all of them: `for await (const entity of shop.entities("price < 20"))`.
   * @param {string} [filter]
   * @returns {AsyncGenerator<Entity>}
   */
  async *entities(filter) {
    /** @type {string | undefined} */
    let cursor;
    do {
      const page = await this.#send("GET", "/entities", { filter, limit: 1000, cursor });
      yield* page.entities;
      cursor = page.next;
    } while (cursor);
  }

  /**
   * The images of an entity, in order.
   * @param {string} id
   * @returns {Promise<EntityImage[]>}
   */
  async images(id) {
    return (await this.#send("GET", `${Catalog.#path(id)}/images`)).images;
  }

  /**
   * Adds an image to those of an entity, unless it has it, and returns all.
   * @param {string} id
   * @param {Bytes} image
   * @returns {Promise<EntityImage[]>}
   */
  async addImage(id, image) {
    return (await this.#send("POST", `${Catalog.#path(id)}/images`, {}, image)).images;
  }

  /**
   * Removes an image of an entity, but not its last one, and returns the others.
   * @param {string} id
   * @param {EntityImage} image
   * @returns {Promise<EntityImage[]>}
   */
  async removeImage(id, image) {
    return (await this.#send("DELETE", `${Catalog.#path(id)}/images/${image.id}`)).images;
  }

  /** @param {string} id */
  static #path(id) {
    return `/entities/${encodeURIComponent(id)}`;
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {Record<string, string | number | undefined>} [fields]
   * @param {Bytes | string} [body]
   * @param {string} [kind]
   * @returns {Promise<any>}
   */
  async #send(method, path, fields = {}, body, kind = "application/octet-stream") {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(fields)) if (value !== undefined) query.set(name, String(value));
    /** @type {Record<string, string>} */
    const headers = body === undefined ? {} : { "Content-Type": kind };
    if (this.key) headers.Authorization = `Bearer ${this.key}`;
    const request = { method, headers, body: /** @type {BodyInit | undefined} */ (body) };
    const end = Date.now() + this.patience * 1000;
    for (;;) {
      const answer = await fetch(`${this.base}${path}${query.size ? `?${query}` : ""}`, request);
      if (answer.ok) return answer.status === 204 ? undefined : answer.json();
      // Not all at once: those who were refused together would be refused together again.
      const seconds = Number(answer.headers.get("Retry-After") ?? Infinity) * (1 + Math.random() / 2);
      if ((answer.status === 429 || answer.status === 503) && Date.now() + seconds * 1000 <= end) {
        await answer.body?.cancel();
        await new Promise((done) => setTimeout(done, seconds * 1000));
        continue;
      }
      if (answer.headers.get("Content-Type") === "application/problem+json") {
        throw new Problem(answer.status, await answer.json());
      }
      // A proxy in between answers.
      const detail = (await answer.text()).slice(0, 200);
      throw new Problem(answer.status, { code: "no-answer", title: answer.statusText, detail });
    }
  }
}
