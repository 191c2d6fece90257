// The page: what was asked last, and what is shown of it.

import { address, getJSON, hasKey, searchImage, searchJSON, setKey, showImage, whenBusy } from "./api.js";
import { setUpAdding } from "./adding.js";
import { setUpCamera } from "./camera.js";
import { addCards, emptyCard, lightCard } from "./cards.js";
import { Filters } from "./filters.js";
import { acceptDrops, images, prepared } from "./photo.js";
import { Stage } from "./stage.js";

const PAGE_SIZE = 12;
const field = (id) => document.getElementById(id);
const [cards, status, error, more] = [field("cards"), field("status"), field("error"), field("more")];
const chooser = field("catalog");

let catalog = null;
/** What is asked before this is fulfilled waits for it: people are faster than a slow network. */
let opening = null;
let photo = null;
/** The search that is shown: a query that the service keeps, or a text, or an entity. */
let shown = null;
let results = [];
let cursor = null;
let inFlight = null;

const stage = new Stage(() => photo && searchPhoto());
const filters = new Filters(field("filters"), () => shown && refine());
const actions = {
  light(index) {
    stage.light(index);
    lightCard(cards, index);
  },
  similar: (entity) => run(`More like ${entity.title || entity.id}`, { entity: entity.id, limit: PAGE_SIZE }),
};
stage.onPoint = actions.light;
whenBusy((seconds) => {
  status.textContent = `Many people are searching. The next try is in ${seconds} s …`;
});

// MARK: Searches

/** Does a search and shows it; a later one replaces it. */
async function show(words, search, isNextPage = false) {
  inFlight?.abort();
  const controller = new AbortController();
  inFlight = controller;
  error.hidden = true;
  field("welcome").hidden = true;
  status.textContent = words;
  document.body.classList.add("busy");
  try {
    await opening;
    if (!catalog) await start();
    if (!catalog || controller.signal.aborted) return null;
    const began = performance.now();
    const answer = await search(controller.signal);
    if (controller.signal.aborted) return null;
    if (!isNextPage) {
      results = [];
      cards.replaceChildren();
    }
    addCards(cards, answer.results, results.length, actions);
    results = results.concat(answer.results);
    cursor = answer.next ?? null;
    more.hidden = !cursor;
    more.textContent = "More results";
    stage.drawOutlines(shown?.isPhoto ? results : []);
    answer.seconds = (performance.now() - began) / 1000;
    return answer;
  } catch (failure) {
    if (failure.name === "AbortError" || controller.signal.aborted) return null;
    tell(failure);
    return null;
  } finally {
    if (inFlight === controller) document.body.classList.remove("busy");
  }
}

function tell(failure) {
  status.textContent = "";
  error.textContent = failure.message;
  error.hidden = false;
  if (failure.status === 401) askForKey();
}

const count = (number) => (number === 1 ? "1 match" : `${number} matches`);

async function searchPhoto() {
  shown = { isPhoto: true, minConfidence: null };
  filters.clear();
  const options = { limit: PAGE_SIZE };
  if (stage.region) options.region = stage.regionText();
  const answer = await show("Looking at your photo…", (signal) => searchImage(catalog.name, photo, options, signal));
  if (!answer) return;
  shown.query = answer.query;
  report(answer);
  offerFilters();
}

/** The same photo with other filters, from what the service keeps of it. */
async function refine() {
  const answer = await show("Filtering…", (signal) => searchJSON(catalog.name, request(), signal));
  if (answer) report(answer);
}

function request() {
  const search = { limit: PAGE_SIZE, ...filters.search() };
  if (shown.query) search.query = shown.query;
  if (shown.search) Object.assign(search, shown.search);
  if (shown.minConfidence !== null && shown.minConfidence !== undefined) search.minConfidence = shown.minConfidence;
  return search;
}

async function run(words, search) {
  shown = { isPhoto: false, search };
  filters.clear();
  const answer = await show(`${words}…`, (signal) => searchJSON(catalog.name, search, signal));
  if (!answer) return;
  status.textContent = `${words}: ${count(answer.results.length)}.`;
  if (!answer.results.length) {
    cards.append(emptyCard("Nothing has this name", "Try another word of the title, or a photo."));
  }
}

function report(answer) {
  if (results.length) {
    const kind = shown.minConfidence === 0 ? "The likeliest first, however unlikely" : count(results.length);
    status.textContent = `${kind}, in ${answer.seconds.toFixed(2)}\u00a0s.`;
    if (!cursor && shown.minConfidence !== 0) offerLessSure();
    return;
  }
  status.textContent = "No match.";
  const hint = filters.isActive
    ? "With these filters nothing is left. Try fewer of them."
    : "The photo may show something that this catalog does not have. A sharper photo, or a rectangle around the thing "
      + "itself, can help.";
  cards.append(emptyCard("Not in the catalog", hint, "Show the nearest all the same", () => {
    shown.minConfidence = 0;
    refine();
  }));
}

function offerLessSure() {
  more.hidden = false;
  more.textContent = "Show less likely ones";
}

more.addEventListener("click", async () => {
  if (!cursor) {
    shown.minConfidence = 0;
    await refine();
    return;
  }
  const start = results.length;
  const next = cursor;
  const answer = await show("Looking for more…", (signal) => (
    searchJSON(catalog.name, { ...request(), cursor: next }, signal)), true);
  if (!answer) return;
  status.textContent = `${results.length} results.`;
  cards.children[start]?.querySelector("button")?.focus();
});

/** Which values the whole ranking has. */
async function offerFilters() {
  const keys = Filters.keys(catalog);
  if (!keys.length || !shown?.query) return;
  const { query } = shown;
  try {
    const answer = await searchJSON(catalog.name, { query, limit: 1, minConfidence: 0, facets: keys });
    if (shown.query === query) filters.show(answer.facets);
  } catch { /* Without filters the page is still of use. */ }
}

// MARK: Photos

async function take(file) {
  photo = await prepared(file);
  field("drop").hidden = true;
  stage.show(photo);
  await searchPhoto();
}

field("choose").addEventListener("click", () => field("file").click());
field("file").addEventListener("change", (event) => {
  if (event.target.files[0]) take(event.target.files[0]);
  event.target.value = "";
});
acceptDrops(field("query"), ([file]) => take(file));
for (const name of ["dragover", "drop"]) {
  // A photo that misses its place must not replace the page.
  document.addEventListener(name, (event) => event.preventDefault());
}
document.addEventListener("paste", (event) => {
  const [file] = images(event.clipboardData);
  if (file) take(file);
});
setUpCamera(field("photograph"), take);
field("another").addEventListener("click", () => {
  stage.hide();
  field("drop").hidden = false;
  field("choose").focus();
});
field("text-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = field("text").value.trim();
  if (text) run(`“${text}”`, { text, limit: 50 });
});

async function offerSamples() {
  const { samples } = await getJSON("v1/samples");
  const list = field("samples").querySelector("ul");
  list.replaceChildren();
  for (const [index, path] of samples.slice(0, 10).entries()) {
    const [item, button, image] = ["li", "button", "img"].map((name) => document.createElement(name));
    button.type = "button";
    image.alt = `Sample ${index + 1}`;
    showImage(image, path);
    button.append(image);
    button.addEventListener("click", async () => take(await (await fetch(address(path))).blob()));
    item.append(button);
    list.append(item);
  }
  field("samples").hidden = !samples.length;
}

// MARK: The catalog

const size = (bytes) => (bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

async function openCatalog(name) {
  catalog = await getJSON(`v1/catalogs/${name}`);
  const { bytes, types } = catalog;
  const facts = [
    ["Entities", catalog.entities.toLocaleString("en")],
    ["Types", Object.entries(types).map(([type, number]) => `${type || "none"} (${number})`).join(", ") || "none"],
    ["On disk", size(bytes.database + bytes.matrix + bytes.invertedLists)],
    ["Model", `${catalog.model.name}, ${catalog.model.dimension} dimensions`],
  ];
  field("facts").replaceChildren(...facts.flatMap(([term, value]) => {
    const [dt, dd] = [document.createElement("dt"), document.createElement("dd")];
    [dt.textContent, dd.textContent] = [term, value];
    return [dt, dd];
  }));
}

/** Opens the catalog that is shown, or the first one; says why if there is none. */
function start() {
  opening = loadCatalogs();
  return opening;
}

async function loadCatalogs() {
  error.hidden = true;
  try {
    const { catalogs } = await getJSON("v1/catalogs");
    chooser.replaceChildren(...catalogs.map(({ name, entities }) => {
      const option = document.createElement("option");
      option.value = name;
      option.textContent = `${name} (${entities.toLocaleString("en")})`;
      return option;
    }));
    chooser.parentElement.hidden = !catalogs.length;
    if (!catalogs.length) {
      status.textContent = "There is no catalog yet. “lookalike index” makes one, and so does the API.";
      return;
    }
    await openCatalog(catalog?.name ?? catalogs[0].name);
    chooser.value = catalog.name;
    await offerSamples();
  } catch (failure) {
    tell(failure);
  }
}

chooser.addEventListener("change", async () => {
  error.hidden = true;
  try {
    await openCatalog(chooser.value);
  } catch (failure) {
    tell(failure);
    // Searches go on in the catalog that is open.
    if (catalog) chooser.value = catalog.name;
    return;
  }
  if (photo && !stage.element.hidden) searchPhoto();
});
setUpAdding(() => catalog.name, start, askForKey);

// MARK: The key

function askForKey() {
  if (!field("key-dialog").open) field("key-dialog").showModal();
}

field("key-button").addEventListener("click", askForKey);
field("key-close").addEventListener("click", () => field("key-dialog").close());
field("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  setKey(field("key").value);
  field("key-dialog").close();
  field("key-button").textContent = hasKey() ? "API key ✓" : "API key";
  start();
});

start();
