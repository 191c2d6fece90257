// The page: what was asked last, and what is shown of it.

import {
  address, getBlob, getEntity, getJSON, hasKey, searchImage, searchJSON, searchWords, setKey, showImage, whenBusy,
} from "./api.js";
import { setUpAdding } from "./adding.js";
import { setUpCamera } from "./camera.js";
import { addSmallCards, button, element, emptyCard, isolated, lightCard, nameOf, showCards } from "./cards.js";
import { Filters } from "./filters.js";
import { setUpManaging } from "./managing.js";
import { entitiesNamed } from "./names.js";
import { acceptDrops, files, prepared } from "./photo.js";
import { Shelf } from "./shelf.js";
import { areNumbered, Stage } from "./stage.js";

const PAGE_SIZE = 12;
const MOST_MATCHES = 200;
/** Photos that the browser's history can go back to. */
const KEPT_PHOTOS = 12;
const field = (id) => document.getElementById(id);
const [cards, smallCards, status, error, more] = ["cards", "small-cards", "status", "error", "more"].map(field);
const chooser = field("catalog");

let catalog = null;
let firstCatalog = null;
/** Whether the key, or the service without keys, lets catalogs be changed. */
let mayManage = false;
/** What is asked before this is fulfilled waits for it: people are faster than a slow network. */
let opening = null;
let photo = null;
/** The file that was chosen last: one that takes long to open does not come after it. */
let newest = null;
/** The photos of the browser's history. Their keys are those of this load of the page: a later one has other photos. */
const photos = new Map();
let photoCount = 0;
let photoKey = null;
/** What is shown: `kind` is “photo”, “name” or “like”. The service keeps the `query` of a photo for a while. */
let shown = null;
/** The matches that are shown; what is less likely is not among them. */
let results = [];
let cursor = null;
let inFlight = null;
/** Does again what was done last. */
let again = null;

const stage = new Stage(() => photo && searchPhoto());
const filters = new Filters(field("filters"), () => shown && refine());
const shelf = new Shelf((entity) => searchLike(entity), () => remember("replace"));
const actions = {
  light(index) {
    stage.light(index);
    lightCard(cards, index);
  },
  similar: (entity) => searchLike(entity),
};
stage.onPoint = actions.light;
whenBusy((seconds) => {
  status.textContent = `Many people are searching. The next try is in ${seconds} s …`;
});

// MARK: Asking

/** @param isForAll whether the words are seen; what repeats the results is for those who listen alone */
function say(words, isForAll = true) {
  status.textContent = words;
  status.classList.toggle("hidden-title", !isForAll);
}

/** Asks the service; a later question replaces it, and the answer is then null, as it is when there was none. */
async function ask(words, question) {
  inFlight?.abort();
  const controller = new AbortController();
  inFlight = controller;
  error.hidden = true;
  field("welcome").hidden = true;
  say(words);
  document.body.classList.add("busy");
  try {
    await opening;
    if (!catalog) await start();
    if (!catalog || controller.signal.aborted) return null;
    const answer = await question(controller.signal);
    return controller.signal.aborted ? null : answer;
  } catch (failure) {
    if (failure.name !== "AbortError" && !controller.signal.aborted) tell(failure);
    return null;
  } finally {
    if (inFlight === controller) {
      document.body.classList.remove("busy");
      field("sending").hidden = true;
    }
  }
}

/** Says what failed, and lets a person try it again where that may help. */
function tell(failure) {
  status.textContent = "";
  // Nothing is shown of what was asked.
  const isAlone = field("welcome").hidden && !cards.childElementCount && !smallCards.childElementCount;
  if (isAlone) headed(["unknown-entity", "wrong-link"].includes(failure.code) ? "Wrong link" : "That did not work");
  error.replaceChildren(element("p", "", failure.message));
  if (again && (failure.code === "no-answer" || failure.status >= 500)) {
    error.append(button("Try again", "", () => again()));
  }
  // Most visitors have none.
  if (failure.status === 401) error.append(button("Enter an API key", "", askForKey));
  error.hidden = false;
  error.scrollIntoView({ block: "nearest" });
}

window.addEventListener("online", () => {
  if (!error.hidden) again?.();
});

function progress(part) {
  field("sending").hidden = part === 1;
  field("sending").value = part;
  if (part === 1) status.textContent = "Looking at your photo…";
}

/** Sends the photo, or the part of it that is marked. */
async function sendPhoto(signal) {
  const options = { limit: PAGE_SIZE };
  if (stage.region) options.region = stage.regionText();
  const answer = await searchImage(catalog.name, photo, options, signal, progress);
  shown.query = answer.query;
  return answer;
}

/** Searches again by what the service keeps of the photo; sends the photo again if that is gone, as after a restart. */
async function searchKept(search, signal) {
  if (shown.kind === "like") return searchJSON(catalog.name, { ...search, entity: shown.id }, signal);
  try {
    return await searchJSON(catalog.name, { ...search, query: shown.query }, signal);
  } catch (failure) {
    if (failure.code !== "query-expired") throw failure;
    if (!photo) throw new Error("The photo of this link is no longer kept. Choose it again.");
    await sendPhoto(signal);
    return searchJSON(catalog.name, { ...search, query: shown.query }, signal);
  }
}

// MARK: Searches

/** Empties the answer, before another question. */
function clearAnswer() {
  results = [];
  cursor = null;
  cards.replaceChildren();
  smallCards.replaceChildren();
  field("small-title").hidden = true;
  more.hidden = true;
  error.hidden = true;
  stage.drawOutlines([]);
}

function headed(text) {
  field("results-title").textContent = text;
  document.title = `${text} – Lookalike`;
}

/** @param way how the address remembers it: “push”, “replace”, or “none” if it came from there */
async function searchPhoto(way = "push") {
  shown = { kind: "photo", query: null, sample: shown?.sample };
  again = () => searchPhoto(way);
  filters.clear();
  const answer = await ask("Sending your photo…", sendPhoto);
  if (!answer) return;
  showMatches(answer);
  remember(way);
  offerFilters();
}

/** The same with other filters. */
async function refine() {
  again = refine;
  const isLike = shown.kind === "like";
  // No match may be left over for what is less likely.
  const limit = shown.isLess ? MOST_MATCHES : PAGE_SIZE;
  const answer = await ask("Filtering…", (signal) => searchKept({ ...filters.search(), limit }, signal));
  if (!answer) return;
  if (isLike) showSimilar(answer);
  else showMatches(answer);
  if (shown.isLess && !isLike) await showLess();
  remember("replace");
  offerFilters();
}

async function searchName(name, way = "push") {
  replaceRestoring(way);
  newest = null;
  leavePhoto();
  document.body.classList.add("named");
  clearAnswer();
  filters.clear();
  shown = { kind: "name", name };
  again = () => searchName(name, way);
  headed(`Named “${isolated(name)}”`);
  const answer = await ask(`Looking for “${isolated(name)}”…`, async (signal) => {
    const [named, described] = await Promise.all([
      entitiesNamed(catalog.name, name, signal),
      catalog.model.readsTexts ? searchWords(catalog.name, name, { limit: PAGE_SIZE }, signal) : null,
    ]);
    return { ...named, described };
  });
  if (!answer) return;
  results = answer.results;
  showCards(cards, results, false, actions);
  if (answer.described) showDescribed(answer.described);
  remember(way);
  if (!results.length) {
    status.textContent = "Nothing has this name.";
    if (!smallCards.childElementCount) cards.append(emptyCard("Try another word of the title, or a photo."));
  } else if (answer.isNear) {
    status.textContent = `Nothing has just this name. Did you mean ${listed(results)}?`;
  } else {
    say(`${count(results.length, "result")}: ${listed(results)}.`, false);
  }
  arrive();
}

/** Shows whose pictures are as the words say, below what has the name. */
function showDescribed(answer) {
  shown.query = answer.query;
  const known = new Set(results.map(({ entity }) => entity.id));
  addSmallCards(smallCards, answer.results.filter(({ entity }) => !known.has(entity.id)), actions);
  field("small-title").textContent = `Pictures that look like “${isolated(shown.name)}”`;
  field("small-title").hidden = !smallCards.childElementCount;
  cursor = answer.next ?? null;
  more.hidden = !cursor;
  more.textContent = "More";
}

/** Searches for what resembles an entity, whose picture takes the place of the photo. */
async function searchLike({ id, ...known }, way = "push") {
  replaceRestoring(way);
  const mine = {};
  newest = mine;
  again = () => searchLike({ id, ...known }, way);
  filters.clear();
  shown = { kind: "like", id, name: nameOf({ id, ...known }) };
  const answer = await ask(`Looking for more like ${isolated(shown.name)}…`, async (signal) => {
    const entity = known.thumbnail ? { id, ...known } : await getEntity(catalog.name, id);
    const [found, picture] = await Promise.all([
      searchKept({ limit: PAGE_SIZE }, signal),
      // An entity that came as a print has none.
      getBlob(entity.thumbnail, signal).catch((failure) => {
        if (failure.status !== 404) throw failure;
      }),
    ]);
    return { ...found, entity, picture };
  });
  if (!answer || newest !== mine) return;
  shown.name = nameOf(answer.entity);
  leavePhoto();
  if (answer.picture) await showPhoto(answer.picture, `${shown.name}, of the catalog`);
  if (newest !== mine) return;
  showSimilar(answer);
  remember(way);
  offerFilters();
  field("results-title").focus({ preventScroll: true });
  field("results-title").scrollIntoView({ block: "nearest" });
}

// MARK: Answers

const count = (number, word) => (
  number === 1 ? `1 ${word}` : `${number} ${word === "match" ? "matches" : `${word}s`}`);

/** The first names of results, for those who listen. */
function listed(found) {
  const names = found.slice(0, 3).map(({ entity }) => isolated(nameOf(entity)));
  if (found.length > 3) names.push(`${found.length - 3} more`);
  return names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names[0];
}

function showMatches(answer) {
  clearAnswer();
  results = answer.results;
  cursor = answer.next ?? null;
  redraw();
  if (results.length) {
    headed(results.length === 1 ? "The match" : "Matches");
    say(`${count(results.length, "match")}: ${listed(results)}.`, false);
    more.hidden = false;
    more.textContent = cursor ? "More matches" : "Show less likely ones";
  } else {
    headed("No match");
    status.textContent = "The catalog does not seem to have this.";
    const hint = filters.isActive
      ? "With these filters nothing is left. Try fewer of them."
      : "If it should, a sharper photo can help, or a search for a part of this one.";
    cards.append(emptyCard(hint, "Show the nearest all the same", openLess));
  }
  arrive();
}

function redraw() {
  showCards(cards, results, areNumbered(results), actions);
  stage.drawOutlines(photo ? results : []);
  hint();
}

function hint() {
  const outlines = results.filter((result) => result.outline).length;
  const isTouched = matchMedia("(pointer: coarse)").matches;
  if (stage.region) {
    field("hint").textContent = isTouched
      ? "Move the frame or its corners. Two fingers zoom." : "Move the frame or its corners, or draw another one.";
  } else if (outlines > 1) {
    field("hint").textContent = isTouched
      ? "Tap an outline to search that alone." : "Click an outline to search that alone, or draw a frame.";
  } else {
    field("hint").textContent = isTouched ? "" : "Draw a frame around what you mean.";
  }
}

/** Brings the answer into view, and the focus to it if what had it is gone. */
function arrive() {
  const title = field("results-title");
  if (document.activeElement === document.body) title.focus({ preventScroll: true });
  if (stage.region || document.body.classList.contains("camera")) return;
  const { top } = title.getBoundingClientRect();
  if (top > innerHeight * 0.6 || top < 0) (photo ? field("query") : title).scrollIntoView({ block: "start" });
}

/** What resembles an entity is no match: it has a heading of its own, and no outlines. */
function showSimilar(answer) {
  clearAnswer();
  headed(`Similar to “${isolated(shown.name)}”`);
  addSmallCards(smallCards, answer.results, actions);
  cursor = answer.next ?? null;
  more.hidden = !cursor;
  more.textContent = "More";
  status.textContent = answer.results.length ? "The most similar first." : "Nothing is left with these filters.";
}

/** Shows what is less likely, below the matches. */
async function openLess() {
  again = openLess;
  shown.isLess = true;
  if (!await showLess()) return;
  remember("replace");
  offerFilters();
  field("small-title").focus({ preventScroll: true });
  field("small-title").scrollIntoView({ block: "nearest" });
}

async function showLess() {
  const known = new Set(results.map(({ entity }) => entity.id));
  const answer = await ask("Looking for less likely ones…", (signal) => searchKept(
    { ...filters.search(), minConfidence: 0, limit: PAGE_SIZE + known.size }, signal));
  if (!answer) return false;
  const others = answer.results.filter(({ entity }) => !known.has(entity.id));
  smallCards.replaceChildren();
  addSmallCards(smallCards, others, actions);
  cards.querySelector(".empty button")?.remove();
  field("small-title").textContent = results.length ? "Less likely" : "The nearest, but probably not the same";
  field("small-title").hidden = !others.length;
  cursor = answer.next ?? null;
  more.hidden = !cursor;
  more.textContent = "More";
  const what = results.length ? `${count(results.length, "match")}: ${listed(results)}` : "No match";
  // The headings say it to those who see.
  if (others.length) say(`${what}. Below is what is less likely.`, false);
  else say("The catalog has nothing else.");
  return true;
}

more.addEventListener("click", async () => {
  if (!cursor) {
    await openLess();
    return;
  }
  const isOfMatches = shown.kind === "photo" && !shown.isLess;
  const search = { ...filters.search(), limit: PAGE_SIZE, cursor };
  if (shown.isLess) search.minConfidence = 0;
  again = () => more.click();
  const answer = await ask("Looking for more…", (signal) => searchKept(search, signal));
  if (!answer) return;
  cursor = answer.next ?? null;
  const list = isOfMatches ? cards : smallCards;
  const start = list.childElementCount;
  if (isOfMatches) {
    results = results.concat(answer.results);
    redraw();
  } else {
    const known = new Set(results.map(({ entity }) => entity.id));
    addSmallCards(smallCards, answer.results.filter(({ entity }) => !known.has(entity.id)), actions);
  }
  more.hidden = !cursor && !isOfMatches;
  more.textContent = !isOfMatches ? "More" : cursor ? "More matches" : "Show less likely ones";
  status.textContent = `${list.childElementCount} are shown.`;
  list.children[start]?.querySelector("button")?.focus();
});

/** Offers the values that what is shown has. A chosen value does not hide the others of its filter. */
async function offerFilters() {
  const keys = Filters.keys(catalog);
  const current = shown;
  if (!keys.length || shown.kind === "name") return;
  const base = { limit: 1 };
  if (shown.kind === "photo") base.query = shown.query;
  else base.entity = shown.id;
  if (shown.isLess) base.minConfidence = 0;
  const counted = async (facets, except) => {
    if (!facets.length) return [];
    const search = { ...base, ...filters.search(except), facets };
    return (await searchJSON(catalog.name, search, null, true)).facets;
  };
  try {
    const chosen = keys.filter((key) => filters.chosen.has(key));
    const answers = await Promise.all([
      counted(keys.filter((key) => !filters.chosen.has(key))), ...chosen.map((key) => counted([key], key)),
    ]);
    if (shown !== current) return;
    const facets = answers.flat().sort((a, b) => keys.indexOf(a.key) - keys.indexOf(b.key));
    filters.show(facets, cards.querySelectorAll(".card").length + smallCards.childElementCount);
  } catch { /* Without filters the page is still of use. */ }
}

// MARK: Photos

/** Takes a photo and searches it. */
async function take(file, { sample, region, way = "push" } = {}) {
  replaceRestoring(way);
  newest = file;
  inFlight?.abort();
  again = () => take(file, { sample, region, way });
  clearAnswer();
  filters.clear();
  field("welcome").hidden = true;
  status.textContent = "Opening your photo…";
  document.body.classList.add("busy");
  try {
    const ready = await prepared(file);
    if (newest !== file) return;
    await showPhoto(ready, "Your photo");
    if (newest !== file) return;
  } catch (failure) {
    if (newest !== file) return;
    leavePhoto();
    tell(failure);
    return;
  }
  stage.setRegion(region ?? null);
  shown = { kind: "photo", sample };
  headed("Your photo");
  hint();
  await searchPhoto(way);
}

/** Shows a photo in the place where one is chosen. */
async function showPhoto(blob, name) {
  const mine = newest;
  await stage.show(blob, name);
  if (newest !== mine) return;
  photo = blob;
  field("drop").hidden = true;
  document.body.classList.remove("named");
  document.body.classList.add("photo");
  photoCount += 1;
  photoKey = `${performance.timeOrigin}-${photoCount}`;
  photos.set(photoKey, photo);
  for (const key of [...photos.keys()].slice(0, -KEPT_PHOTOS)) photos.delete(key);
}

/** Goes back to where a photo is chosen. */
function leavePhoto() {
  photo = null;
  stage.hide();
  document.body.classList.remove("busy", "photo", "named");
  field("drop").hidden = false;
}

/** Clears the page, as it starts. */
function clear(way = "push") {
  replaceRestoring(way);
  newest = null;
  inFlight?.abort();
  leavePhoto();
  clearAnswer();
  filters.clear();
  shown = null;
  again = null;
  status.textContent = "";
  field("text").value = "";
  field("results-title").textContent = "How it works";
  document.title = "Lookalike: visual search";
  field("welcome").hidden = false;
  remember(way);
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
  const [file] = files(event.clipboardData);
  if (file && field("manage").hidden) take(file);
});
const camera = setUpCamera(field("photograph"), {
  onPhoto: take,
  onClose: () => hint(),
  search: (frame, signal) => (
    searchImage(catalog.name, frame, { limit: 3 }, signal, undefined, true)),
});
field("another").addEventListener("click", () => {
  clear();
  field("choose").focus();
});

async function offerSamples() {
  const { samples } = await getJSON("v1/samples");
  const list = field("samples").querySelector("ul");
  list.replaceChildren(...samples.slice(0, 10).map((path, index) => {
    const item = element("li");
    const image = element("img");
    const chooseIt = button("", "", () => takeSample(path));
    image.alt = `Sample ${index + 1}`;
    showImage(image, path);
    chooseIt.append(image);
    item.append(chooseIt);
    return item;
  }));
  field("samples").hidden = !samples.length;
}

async function takeSample(path, options = {}) {
  const mine = {};
  newest = mine;
  again = () => takeSample(path, options);
  try {
    const answer = await fetch(address(path));
    if (!answer.ok) throw wrongLink("There is no such sample photo here.");
    const file = await answer.blob();
    if (newest !== mine) return;
    await take(file, { ...options, sample: decodeURIComponent(path.split("/").pop()) });
  } catch (failure) {
    field("welcome").hidden = true;
    tell(failure instanceof TypeError ? new Error("The service cannot be reached.") : failure);
  }
}

/** An error of an address that leads nowhere. */
const wrongLink = (words) => Object.assign(new Error(words), { code: "wrong-link", status: 404 });

// MARK: Names

let typing;
field("text-form").addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(typing);
  const text = field("text").value.trim();
  if (text) searchName(text);
});

field("text").addEventListener("input", (event) => {
  clearTimeout(typing);
  const text = field("text").value.trim();
  // A title that was chosen, and not typed.
  const isChosen = !event.inputType || event.inputType === "insertReplacementText";
  if (isChosen && [...field("titles").children].some(({ value }) => value === text)) {
    searchName(text);
    return;
  }
  typing = setTimeout(async () => {
    if (!catalog || text.length < 2) return;
    try {
      const { results: found } = await searchJSON(catalog.name, { text, limit: 8 }, null, true);
      const titles = [...new Set(found.map(({ entity }) => entity.title).filter(Boolean))];
      field("titles").replaceChildren(...titles.map((title) => new Option(title, title)));
    } catch { /* What was typed can be searched all the same. */ }
  }, 150);
});

// MARK: The address

/** Writes what is shown into the address, so that it can be shared, and that “back” leads there. */
function remember(way) {
  if (way === "none") return;
  const values = new URLSearchParams();
  const isManaged = !field("manage").hidden;
  const isStart = !shown && !isManaged && !shelf.isChanged && catalog?.name === firstCatalog;
  if (catalog && !isStart) values.set("catalog", catalog.name);
  if (isManaged) values.set("view", "manage");
  else if (shown?.kind === "name") values.set("name", shown.name);
  else if (shown?.kind === "like") values.set("like", shown.id);
  else if (shown?.sample && !stage.region) values.set("sample", shown.sample);
  else if (shown?.query) values.set("query", shown.query);
  if (!isManaged) {
    filters.remember(values);
    if (shown?.isLess) values.set("less", "1");
    if (!shown) shelf.remember(values);
  }
  const url = `${values}` ? `?${values}` : location.pathname;
  const state = { photo: photo ? photoKey : null, region: stage.region };
  if (way === "push") history.pushState(state, "", url);
  else history.replaceState(state, "", url);
}

let restored = 0;

/** What a person asks replaces an address that is still being shown. */
function replaceRestoring(way) {
  if (way !== "none") restored += 1;
}

/**
 * Shows what the address says; a later address replaces it.
 *
 * @param isFirst whether the page was just loaded: what a person did meanwhile stays
 */
async function restore(isFirst = false) {
  restored += 1;
  const number = restored;
  const values = new URLSearchParams(location.search);
  const state = history.state ?? {};
  camera.close();
  await opening;
  const name = values.get("catalog");
  const isKnown = [...chooser.options].some((option) => option.value === name);
  if (isKnown && name !== catalog?.name && !await chooseCatalog(name)) return;
  if (number !== restored) return;
  // Without any, a key may be needed.
  if (name && !isKnown && chooser.options.length) {
    clear("none");
    field("welcome").hidden = true;
    tell(wrongLink(`There is no catalog “${name}” here. It may have another name now, or need another key.`));
    return;
  }
  if (values.get("view") === "manage") {
    openManaging("none");
    return;
  }
  closeManaging();
  const like = values.get("like");
  if (values.has("name")) {
    field("text").value = values.get("name");
    await searchName(values.get("name"), "none");
  } else if (like) {
    await searchLike({ id: like }, "none");
    if (number === restored) await refineAs(values);
  } else if (values.has("query")) {
    await restorePhoto(state);
    if (number !== restored) return;
    clearAnswer();
    filters.clear();
    shown = { kind: "photo", query: values.get("query") };
    await refineAs(values, true);
  } else if (values.has("sample")) {
    await takeSample(`v1/samples/${encodeURIComponent(values.get("sample"))}`, { way: "none" });
    if (number === restored) await refineAs(values);
  } else {
    if (!isFirst) clear("none");
    await shelf.restore(values);
  }
}

/** Sets the filters that an address has, and searches with them, or in any case. */
async function refineAs(values, isNeeded = false) {
  if (!shown) return;
  for (const [key, value] of Filters.in(values)) filters.chosen.set(key, value);
  shown.isLess = values.has("less");
  if (isNeeded || filters.isActive || shown.isLess) await refine();
}

async function restorePhoto({ photo: key, region }) {
  const kept = photos.get(key);
  leavePhoto();
  if (!kept) return;
  newest = kept;
  await stage.show(kept, "Your photo");
  if (newest !== kept) return;
  photo = kept;
  photoKey = key;
  stage.setRegion(region ?? null);
  field("drop").hidden = true;
  document.body.classList.remove("named");
  document.body.classList.add("photo");
}

window.addEventListener("popstate", () => restore());

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
  field("facts").replaceChildren(...facts.flatMap(([term, value]) => [
    element("dt", "", term), element("dd", "", value),
  ]));
  field("manage-title").textContent = `Manage “${catalog.name}”`;
  field("text-label").textContent = catalog.model.readsTexts ? "Or describe it, or search by name" : "Or search by name";
  shelf.open(catalog);
}

/** Opens the catalog that is shown, or the first one; says why if there is none. */
function start() {
  opening = loadCatalogs();
  return opening;
}

async function loadCatalogs() {
  error.hidden = true;
  try {
    const { scope } = await getJSON("v1/access");
    mayManage = scope === "write";
    field("manage-open").hidden = !mayManage;
    // Without keys there is none to give.
    field("key-button").hidden = mayManage && !hasKey();
    const { catalogs } = await getJSON("v1/catalogs");
    chooser.replaceChildren(...catalogs.map(({ name }) => (
      new Option(name, name))));
    chooser.parentElement.hidden = catalogs.length < 2;
    firstCatalog = catalogs[0]?.name ?? null;
    if (!catalogs.length) {
      catalog = null;
      status.textContent = `There is no catalog yet.${mayManage ? " Create one under “Manage the catalog”." : ""}`;
      return;
    }
    const asked = catalog?.name ?? new URLSearchParams(location.search).get("catalog");
    await openCatalog(catalogs.some(({ name }) => name === asked) ? asked : firstCatalog);
    chooser.value = catalog.name;
    await offerSamples();
  } catch (failure) {
    again ??= () => start();
    tell(failure);
  }
}

/** @returns whether the catalog is open */
async function chooseCatalog(name) {
  error.hidden = true;
  try {
    await openCatalog(name);
    chooser.value = name;
    return true;
  } catch (failure) {
    tell(failure);
    // Searches go on in the catalog that is open.
    if (catalog) chooser.value = catalog.name;
    return false;
  }
}

chooser.addEventListener("change", async () => {
  if (!await chooseCatalog(chooser.value)) return;
  if (!field("manage").hidden) openManaging("replace");
  else if (photo) await searchPhoto();
  else if (shown?.kind === "name") await searchName(shown.name);
  else clear();
});

// MARK: Managing

const managed = {
  catalog: () => catalog?.name,
  onNoKey: askForKey,
  async onChanged() {
    await start();
    browse();
  },
  async onCatalogs(name) {
    await start();
    if (name && name !== catalog?.name) await chooseCatalog(name);
    openManaging("replace");
  },
};
const browse = setUpManaging({ ...managed, onChanged: start });
setUpAdding(managed);

async function openManaging(way = "push") {
  await opening;
  if (!mayManage) {
    tell(Object.assign(new Error("Managing a catalog needs a key with write scope."), { status: 401 }));
    return;
  }
  field("query").hidden = true;
  field("results").hidden = true;
  field("manage").hidden = false;
  document.title = "Manage the catalog – Lookalike";
  remember(way);
  field("manage-title").focus();
  for (const id of ["add-form", "contents", "remove-form"]) field(id).hidden = !catalog;
  if (catalog) await browse(true);
  else field("manage-title").textContent = "There is no catalog yet";
}

function closeManaging() {
  field("query").hidden = false;
  field("results").hidden = false;
  field("manage").hidden = true;
}

field("manage-open").addEventListener("click", () => openManaging());
field("manage-close").addEventListener("click", () => {
  closeManaging();
  headed(field("results-title").textContent);
  remember("push");
  field("results-title").focus({ preventScroll: true });
  scrollTo(0, 0);
});

// MARK: The key

function askForKey() {
  if (!field("key-dialog").open) field("key-dialog").showModal();
}

field("key-button").addEventListener("click", askForKey);
field("key-close").addEventListener("click", () => field("key-dialog").close());
field("key-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  setKey(field("key").value);
  field("key-dialog").close();
  field("key-button").textContent = hasKey() ? "API key ✓" : "API key";
  await start();
  if (!field("manage").hidden) browse();
  else if (new URLSearchParams(location.search).get("view") === "manage") await openManaging("none");
});

field("key-button").textContent = hasKey() ? "API key ✓" : "API key";
field("loading").remove();
start();
if (location.search) restore(true);
