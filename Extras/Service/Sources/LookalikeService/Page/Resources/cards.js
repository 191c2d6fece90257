// Results as cards.

import { showImage } from "./api.js";
import { colorOf } from "./stage.js";

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

const percent = (value) => {
  const rounded = Math.round(value * 100);
  if (rounded === 0) return "less than 1 %";
  return rounded === 100 ? "more than 99 %" : `${rounded} %`;
};

/** A card of a result. `actions.light(index)` lights its outline; `actions.similar(entity)` searches for more. */
function card(result, index, actions) {
  const { entity } = result;
  const item = element("li", "card");
  item.dataset.index = index;
  item.dataset.id = entity.id;
  if (result.outline) item.style.borderLeftColor = colorOf(index);
  const image = element("img", "thumb");
  image.alt = "";
  image.loading = "lazy";
  // Of several images, the one that matches.
  showImage(image, result.image ? `${entity.thumbnail}?image=${result.image}` : entity.thumbnail);
  const body = element("div");
  body.append(element("h3", "", entity.title || entity.id));
  if (entity.subtitle) body.append(element("p", "sub", entity.subtitle));
  if (result.confidence !== undefined) {
    const sure = element("p", "sure");
    const bar = element("span", "bar");
    bar.setAttribute("aria-hidden", "true");
    const fill = element("i");
    fill.style.width = `${Math.max(2, result.confidence * 100)}%`;
    bar.append(fill);
    const words =
      `${percent(result.confidence)} sure, distance ${result.distance.toFixed(2)}` +
      (result.mirrored ? ", mirrored" : "");
    sure.append(bar, element("span", "", words));
    body.append(sure);
  }
  const tags = element("p", "tags");
  for (const text of [entity.type, ...Object.values(entity.attributes), ...entity.labels]) {
    if (text) tags.append(element("span", "", text));
  }
  if (tags.childElementCount) body.append(tags);
  const more = element("button", "quiet more-like", "More like this");
  more.type = "button";
  more.setAttribute("aria-label", `More like ${entity.title || entity.id}`);
  more.addEventListener("click", () => actions.similar(entity));
  body.append(more);
  item.append(image, body);
  for (const name of ["pointerenter", "focusin"]) item.addEventListener(name, () => actions.light(index));
  for (const name of ["pointerleave", "focusout"]) item.addEventListener(name, () => actions.light(null));
  return item;
}

export function addCards(list, results, start, actions) {
  results.forEach((result, offset) => list.append(card(result, start + offset, actions)));
}

/** Lights the card of a result; none for null. */
export function lightCard(list, index) {
  for (const item of list.children) {
    item.classList.toggle("lit", index !== null && Number(item.dataset.index) === index);
  }
}

/** What stands where the cards would be if nothing was found. */
export function emptyCard(title, text, label, action) {
  const item = element("li", "empty");
  item.append(element("h3", "", title), element("p", "", text));
  if (action) {
    const button = element("button", "", label);
    button.type = "button";
    button.addEventListener("click", action);
    item.append(button);
  }
  return item;
}
