// Requests to the service.

let key = sessionStorage.getItem("api-key") ?? "";

export function setKey(value) {
  key = value.trim();
  if (key) sessionStorage.setItem("api-key", key);
  else sessionStorage.removeItem("api-key");
}

export const hasKey = () => key !== "";

/** What errors mean to a person who searches; for others, what the service says. */
const WORDS = {
  "unsupported-image": "This file is not a photo that can be searched. JPEG, PNG, HEIC, WebP, GIF and TIFF can.",
  "unusable-image": "This photo is damaged, or was not sent completely. Choose it again, or take another one.",
  "image-too-large": "This photo is too large. A screenshot of it will do.",
  "body-too-large": "This file is too large. A screenshot of it will do.",
  "decode-time": "This photo takes too long to open. A screenshot of it will do.",
  overloaded: "Many people are searching just now. Try again in a moment.",
};

/** An error that the service answered, or that there was no answer. */
export class ServiceError extends Error {
  constructor(problem) {
    super(WORDS[problem.code] || problem.detail || problem.title || "The service did not answer.");
    this.code = problem.code ?? "no-answer";
    this.status = problem.status ?? 0;
    /** Whether another key may help. */
    this.needsKey = ["unauthorized", "forbidden"].includes(this.code);
  }
}

const unreachable = () => new ServiceError({
  detail: `${navigator.onLine ? "" : "This device is offline. "}The service cannot be reached.`,
});

async function failure(response) {
  try {
    return new ServiceError(await response.json());
  } catch {
    return new ServiceError({ detail: `The service answered ${response.status}.`, status: response.status });
  }
}

/**
 * The URL of a path of the service, which may lie below a path of its host: a proxy may serve it there. The page's
 * files lie at its root.
 */
export const address = (path) => new URL(path.replace(/^\/+/, ""), import.meta.url).href;

const MOST_TRIES = 6;
const LONGEST_PAUSE = 30;
let onBusy = () => {};

/** Calls `handler` with the seconds until the next try when the service has no place for a request. */
export function whenBusy(handler) {
  onBusy = handler;
}

function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("The request was replaced.", "AbortError"));
    }, { once: true });
  });
}

/** How long a busy service asks to wait, in seconds; 0 for any other answer. */
function busyTime(response) {
  const seconds = response.status === 503 ? Number(response.headers.get("Retry-After")) : 0;
  return seconds > 0 && seconds <= LONGEST_PAUSE ? seconds : 0;
}

/** Sends a request; again, where the service has no place for it now. */
async function send(path, options = {}) {
  const headers = { ...options.headers };
  if (key) headers["X-API-Key"] = key;
  for (let tries = 1; ; tries += 1) {
    let response;
    try {
      response = await (options.onProgress ? upload : fetch)(address(path), { ...options, headers });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw unreachable();
    }
    if (response.ok) return response;
    const seconds = busyTime(response);
    if (!seconds || options.isExtra || tries === MOST_TRIES) throw await failure(response);
    onBusy(seconds);
    // Not all at once: those who were refused together would be refused together again.
    await pause(seconds * (1 + Math.random() / 2), options.signal);
  }
}

/** As fetch, which cannot tell how much of a body has been sent: `onProgress` gets the part, from 0 to 1. */
function upload(url, { method, body, headers, signal, onProgress }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, url);
    request.responseType = "blob";
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", (event) => onProgress(event.total ? event.loaded / event.total : 1));
    request.addEventListener("error", () => reject(new TypeError("no answer")));
    request.addEventListener("abort", () => reject(new DOMException("The request was replaced.", "AbortError")));
    request.addEventListener("load", () => {
      const answer = new Headers();
      for (const name of ["Content-Type", "Retry-After", "ETag", "X-Undo"]) {
        const value = request.getResponseHeader(name);
        if (value) answer.set(name, value);
      }
      const content = request.status === 204 ? null : request.response;
      resolve(new Response(content, { status: request.status, headers: answer }));
    });
    signal?.throwIfAborted();
    signal?.addEventListener("abort", () => request.abort(), { once: true });
    request.send(body);
  });
}

export const getJSON = async (path) => (await send(path)).json();

const typeOf = (image) => image.type || "application/octet-stream";
const json = (value) => ({ body: JSON.stringify(value), headers: { "Content-Type": "application/json" } });

function entityPath(catalog, id) {
  // Browsers resolve both in a path, so that it would be that of the catalog.
  if (id === "." || id === "..") throw new ServiceError({ status: 404, detail: "No id is “.” or “..”." });
  return `v1/catalogs/${catalog}/entities/${encodeURIComponent(id)}`;
}

/** @param isExtra what can be left out if the service is busy */
export async function searchImage(catalog, image, options, signal, onProgress, isExtra = false) {
  const query = new URLSearchParams(options);
  const response = await send(`v1/catalogs/${catalog}/search?${query}`, {
    method: "POST", body: image, headers: { "Content-Type": typeOf(image) }, signal, onProgress, isExtra,
  });
  return response.json();
}

/** Searches by words, in a catalog whose model reads texts. */
export async function searchWords(catalog, words, options, signal) {
  const query = new URLSearchParams({ words, ...options });
  return (await send(`v1/catalogs/${catalog}/search?${query}`, { signal })).json();
}

/** A photo that this browser cannot show, as a JPEG file. */
export async function previewOf(image) {
  // A browser names formats that it does not know in its own ways.
  const headers = { "Content-Type": "application/octet-stream" };
  return (await send("v1/previews", { method: "POST", body: image, headers })).blob();
}

/** @param isExtra what can be left out if the service is busy */
export async function searchJSON(catalog, search, signal, isExtra = false) {
  const response = await send(`v1/catalogs/${catalog}/search`, {
    method: "POST", ...json(search), signal, isExtra,
  });
  return response.json();
}

export const getBlob = async (path, signal) => (await send(path, { signal })).blob();

/** Shows an image of the service in an element; with a key, the element itself could not ask for it. */
export async function showImage(element, path) {
  if (!key) {
    // An entity that came as a print has none.
    element.addEventListener("error", () => element.removeAttribute("src"), { once: true });
    element.src = address(path);
    return;
  }
  try {
    const blob = await getBlob(path);
    element.src = URL.createObjectURL(blob);
    element.addEventListener("load", () => URL.revokeObjectURL(element.src), { once: true });
  } catch {
    element.removeAttribute("src");
  }
}

export const getEntity = async (catalog, id) => getJSON(entityPath(catalog, id));

/** A page of the entities, or of those with the words of a text. */
export const listEntities = (catalog, options) => (
  getJSON(`v1/catalogs/${catalog}/entities?${new URLSearchParams(options)}`));

/** All of them, with their ids and titles alone. */
export async function allEntities(catalog, options) {
  const query = new URLSearchParams({ ...options, fields: "id,title" });
  const response = await send(`v1/catalogs/${catalog}/entities?${query}`, {
    headers: { Accept: "application/x-ndjson" },
  });
  return (await response.text()).split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

/** Puts an entity with its images. What it replaces can be put back with the tag, unless that is null. */
export async function putEntity(catalog, id, images, fields, onProgress) {
  const form = new FormData();
  for (const image of images) form.append("image", image, "photo");
  for (const [name, value] of Object.entries(fields)) if (value !== "") form.append(name, value);
  const response = await send(`${entityPath(catalog, id)}?undo=true`, { method: "PUT", body: form, onProgress });
  return { isNew: response.status === 201, tag: response.headers.get("X-Undo") && response.headers.get("ETag") };
}

/** Puts back what the entity with a tag replaced, unless it has been changed since. */
export const undoPut = (catalog, id, tag) => (
  send(`${entityPath(catalog, id)}/undo`, { method: "POST", headers: { "If-Match": tag } }));

const imagesPath = (catalog, id, image) => (
  `${entityPath(catalog, id)}/images${image ? `/${encodeURIComponent(image)}` : ""}`);

/** The images of an entity, and a tag by which the change that led to them can be undone; null if it cannot. */
async function imagesOf(response) {
  const { images } = await response.json();
  return { images, tag: response.headers.get("X-Undo") && response.headers.get("ETag") };
}

export const getImages = async (catalog, id) => imagesOf(await send(imagesPath(catalog, id)));

/** Adds images to those of an entity. */
export async function addImages(catalog, id, images) {
  const form = new FormData();
  for (const image of images) form.append("image", image, "photo");
  return imagesOf(await send(`${imagesPath(catalog, id)}?undo=true`, { method: "POST", body: form }));
}

export const removeImage = async (catalog, id, image) => (
  imagesOf(await send(`${imagesPath(catalog, id, image)}?undo=true`, { method: "DELETE" })));

/** Changes an entity by a JSON merge patch. */
export const patchEntity = async (catalog, id, patch) => (
  (await send(entityPath(catalog, id), { method: "PATCH", ...json(patch) })).json());

export const deleteEntity = async (catalog, id) => send(entityPath(catalog, id), { method: "DELETE" });
export const putCatalog = (catalog) => send(`v1/catalogs/${encodeURIComponent(catalog)}`, { method: "PUT" });
export const deleteCatalog = (catalog) => send(`v1/catalogs/${encodeURIComponent(catalog)}`, { method: "DELETE" });
