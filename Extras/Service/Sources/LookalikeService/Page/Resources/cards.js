// Results as cards.

import { showImage } from "./api.js";
import { colorOf } from "./stage.js";

/** An element; texts of catalogs may be of any script and direction, and do not disturb what is around them. */
export function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) {
    made.textContent = text;
    made.dir = "auto";
  }
  return made;
}

/** A button that does something. */
export function button(text, className, action) {
  const made = element("button", className, text);
  made.type = "button";
  made.addEventListener("click", action);
  return made;
}

/** A text of a catalog within a sentence: isolated, so that its direction ends with it. */
export const isolated = (text) => `\u2068${text}\u2069`;

export const nameOf = (entity) => entity.title || entity.id;

/** The values of an attribute: those of a list in JSON, or itself. */
function valuesOf(text) {
  if (!text.startsWith("[")) return [text];
  try {
    return JSON.parse(text).map(String);
  } catch {
    return [text];
  }
}

/** Tags of a card; more of them say less. */
const MOST_TAGS = 6;

const percent = (value) => {
  const rounded = Math.round(value * 100);
  if (rounded === 0) return "less than 1 %";
  return rounded === 100 ? "more than 99 %" : `${rounded} %`;
};

/** How sure a match is, in words. */
function words(confidence) {
  if (confidence >= 0.95) return ["certain", "This is it"];
  if (confidence >= 0.75) return ["likely", "Very likely this one"];
  if (confidence >= 0.4) return ["maybe", "Maybe this one"];
  return ["unlikely", "Probably another one"];
}

/** The page of a product that an entity names; null for anything that is no web address. */
function link(entity) {
  const name = Object.keys(entity.attributes).find((key) => key.toLowerCase() === "url");
  let url;
  try {
    url = new URL(entity.attributes[name]);
  } catch {
    return null;
  }
  if (!["http:", "https:"].includes(url.protocol)) return null;
  const made = element("a", "out", `See it at ${url.hostname.replace(/^www\./, "")}`);
  made.href = url.href;
  made.target = "_blank";
  made.rel = "noopener noreferrer";
  return made;
}

/** The numbers behind a match, for those who ask. */
function numbers(result) {
  const { entity } = result;
  const lines = [["Id", entity.id]];
  if (result.confidence !== undefined) lines.push(["Sure", percent(result.confidence)]);
  if (result.distance !== undefined) lines.push(["Distance", result.distance.toFixed(2)]);
  if (result.inliers !== undefined) lines.push(["Points that agree", String(result.inliers)]);
  if (entity.imageCount) lines.push(["Photos", String(entity.imageCount)]);
  if (entity.type) lines.push(["Type", entity.type]);
  if (entity.labels.length) lines.push(["Labels", entity.labels.join(", ")]);
  for (const [name, value] of Object.entries(entity.attributes)) lines.push([name, valuesOf(value).join(", ")]);
  const made = element("details", "numbers");
  const list = element("dl");
  for (const [term, value] of lines) list.append(element("dt", "", term), element("dd", "", value));
  made.append(element("summary", "", "Details"), list);
  made.querySelector("summary").setAttribute("aria-label", `Details of ${nameOf(entity)}`);
  return made;
}

/** The path of a thumbnail for another image of its entity. It may have a signature. */
function withImage(path, image) {
  return image ? `${path}${path.includes("?") ? "&" : "?"}image=${image}` : path;
}

/**
 * A card of a result.
 *
 * `actions.light(index)` lights its outline; `actions.similar(entity)` searches for more. Only a result with an index
 * has an outline.
 */
function card(result, index, isNumbered, actions) {
  const { entity } = result;
  const item = element("li", "card");
  item.dataset.id = entity.id;
  const image = element("img", "thumb");
  image.alt = "";
  image.loading = "lazy";
  // Of several images, the one that matches.
  showImage(image, withImage(entity.thumbnail, result.image));
  const body = element("div", "body");
  const title = element("h3", "", nameOf(entity));
  body.append(title);
  if (entity.subtitle) body.append(element("p", "sub", entity.subtitle));
  if (index !== null && result.confidence !== undefined) {
    const [level, text] = words(result.confidence);
    const sure = element("p", `sure ${level}`, result.mirrored ? `${text}, mirrored` : text);
    body.append(sure);
  }
  const tags = element("p", "tags");
  const values = Object.entries(entity.attributes).filter(([name]) => name.toLowerCase() !== "url");
  const texts = [entity.type, ...values.flatMap(([, value]) => valuesOf(value)), ...entity.labels].filter(Boolean);
  // One more takes no more space than the number of those that are left out.
  const isCut = texts.length > MOST_TAGS + 1;
  tags.append(...texts.slice(0, isCut ? MOST_TAGS : texts.length).map((text) => element("span", "", text)));
  if (isCut) tags.append(element("span", "rest", `+${texts.length - MOST_TAGS}`));
  if (tags.childElementCount) body.append(tags);
  const row = element("p", "links");
  const out = link(entity);
  if (out) row.append(out);
  const more = button("More like this", "quiet", () => actions.similar(entity));
  more.setAttribute("aria-label", `More like ${nameOf(entity)}`);
  row.append(more);
  body.append(row, numbers(result));
  item.append(image, body);
  if (index === null) return item;
  item.dataset.index = index;
  if (result.outline) item.style.borderInlineStartColor = colorOf(index);
  if (isNumbered) {
    const number = element("span", "number", String(index + 1));
    if (result.outline) number.style.backgroundColor = colorOf(index);
    item.prepend(number);
  }
  for (const name of ["pointerenter", "focusin"]) item.addEventListener(name, () => actions.light(index));
  for (const name of ["pointerleave", "focusout"]) item.addEventListener(name, () => actions.light(null));
  return item;
}

/** Shows matches, in place of those before. */
export function showCards(list, results, isNumbered, actions) {
  list.replaceChildren(...results.map((result, index) => card(result, index, isNumbered, actions)));
}

/** Adds what is no match: it has no outline. */
export function addSmallCards(list, results, actions) {
  list.append(...results.map((result) => card(result, null, false, actions)));
}

/** Lights the card of a result; none for null. */
export function lightCard(list, index) {
  for (const item of list.children) {
    item.classList.toggle("lit", index !== null && Number(item.dataset.index) === index);
  }
}

/** What stands where the cards would be if nothing was found. */
export function emptyCard(text, label, action) {
  const item = element("li", "empty");
  item.append(element("p", "", text));
  if (action) item.append(button(label, "", action));
  return item;
}
