// Requests to the service.

let key = sessionStorage.getItem("api-key") ?? "";

export function setKey(value) {
  key = value.trim();
  if (key) sessionStorage.setItem("api-key", key);
  else sessionStorage.removeItem("api-key");
}

export const hasKey = () => key !== "";

/** An error that the service answered, or that there was no answer. */
export class ServiceError extends Error {
  constructor(problem) {
    super(problem.detail || problem.title || "The service did not answer.");
    this.code = problem.code ?? "no-answer";
    this.status = problem.status ?? 0;
  }
}

async function failure(response) {
  try {
    return new ServiceError(await response.json());
  } catch {
    return new ServiceError({ detail: `The service answered ${response.status}.`, status: response.status });
  }
}

/**
 * The URL of a path of the service, which may lie below a path of its host: a proxy may serve it there. The page's files
 * lie at its root.
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

/** Sends a request that changes nothing; again, where the service has no place for it now. */
async function send(path, options = {}) {
  const headers = { ...options.headers };
  if (key) headers["X-API-Key"] = key;
  for (let tries = 1; ; tries += 1) {
    let response;
    try {
      response = await fetch(address(path), { ...options, headers });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ServiceError({ detail: "The service cannot be reached. Is it running?" });
    }
    if (response.ok) return response;
    const seconds = busyTime(response);
    if (!seconds || tries === MOST_TRIES) throw await failure(response);
    onBusy(seconds);
    // Not all at once: those who were refused together would be refused together again.
    await pause(seconds * (1 + Math.random() / 2), options.signal);
  }
}

export const getJSON = async (path) => (await send(path)).json();

export async function searchImage(catalog, image, options, signal) {
  const query = new URLSearchParams(options);
  const response = await send(`v1/catalogs/${catalog}/search?${query}`, {
    method: "POST", body: image, headers: { "Content-Type": image.type || "application/octet-stream" }, signal,
  });
  return response.json();
}

export async function searchJSON(catalog, search, signal) {
  const response = await send(`v1/catalogs/${catalog}/search`, {
    method: "POST", body: JSON.stringify(search), headers: { "Content-Type": "application/json" }, signal,
  });
  return response.json();
}

/** Shows an image of the service in an element; with a key, the element itself could not ask for it. */
export async function showImage(element, path) {
  if (!key) {
    element.src = address(path);
    return;
  }
  try {
    const blob = await (await send(path)).blob();
    element.src = URL.createObjectURL(blob);
    element.addEventListener("load", () => URL.revokeObjectURL(element.src), { once: true });
  } catch {
    element.removeAttribute("src");
  }
}

/** Puts an entity, and says how much of the image has been sent. fetch cannot tell. */
export function putEntity(catalog, id, image, fields, onProgress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const query = new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== ""));
    request.open("PUT", address(`v1/catalogs/${catalog}/entities/${encodeURIComponent(id)}?${query}`));
    request.setRequestHeader("Content-Type", image.type || "application/octet-stream");
    if (key) request.setRequestHeader("X-API-Key", key);
    request.upload.addEventListener("progress", (event) => onProgress(event.loaded / event.total));
    request.addEventListener("error", () => reject(new ServiceError({ detail: "The service cannot be reached." })));
    request.addEventListener("load", () => {
      let answer = {};
      try { answer = JSON.parse(request.responseText); } catch { /* The status says enough. */ }
      if (request.status < 300) resolve(answer);
      else reject(new ServiceError({ status: request.status, ...answer }));
    });
    request.send(image);
  });
}
