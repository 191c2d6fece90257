// The view that changes a catalog: what is in it, entities, and catalogs as a whole.

import { deleteCatalog, deleteEntity, getEntity, patchEntity, putCatalog, searchJSON, showImage } from "./api.js";
import { button, element, isolated, nameOf } from "./cards.js";

const PAGE_SIZE = 30;

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

/** Attributes of lines such as “year: 2001”. */
function attributesOf(text) {
  return Object.fromEntries(lines(text).map((line) => {
    const [name, ...rest] = line.split(":");
    if (!rest.length || !name.trim()) throw new Error(`“${line}” is not “name: value”.`);
    return [name.trim(), rest.join(":").trim()];
  }));
}

/**
 * @param context.catalog returns the name of the catalog
 * @param context.onChanged called when entities were changed
 * @param context.onCatalogs called with the name of a catalog to open, or nothing, when catalogs were
 * @param context.onNoKey called when a key is needed
 * @returns a function that shows what is in the catalog; true for a view that opens
 */
export function setUpManaging({ catalog, onChanged, onCatalogs, onNoKey }) {
  const field = (id) => document.getElementById(id);
  const [status, error, list, more] = ["manage-status", "manage-error", "entities", "entities-more"].map(field);
  let cursor = null;
  let asked = 0;
  let edited = null;

  function tell(failure, place = error) {
    place.textContent = failure.message;
    place.hidden = false;
    if (failure.status === 401 || failure.status === 403) onNoKey();
  }

  /** Does something that may fail; true if it did not. */
  async function attempt(action, place = error) {
    place.hidden = true;
    try {
      await action();
      return true;
    } catch (failure) {
      tell(failure, place);
      return false;
    }
  }

  // MARK: Entities

  function row(entity) {
    const item = element("li");
    item.dataset.id = entity.id;
    const image = element("img", "thumb");
    image.alt = "";
    image.loading = "lazy";
    showImage(image, entity.thumbnail);
    const text = element("div", "body");
    text.append(element("strong", "", nameOf(entity)), element("span", "sub", entity.id));
    const change = button("Change", "", () => edit(entity));
    change.setAttribute("aria-label", `Change ${nameOf(entity)}`);
    item.append(image, text, change);
    return item;
  }

  async function browse(isNextPage = false) {
    asked += 1;
    const number = asked;
    const text = field("browse").value.trim();
    await attempt(async () => {
      // No filter at all is a list of everything.
      const search = text ? { text, limit: 50 } : { types: [], limit: PAGE_SIZE };
      if (isNextPage) search.cursor = cursor;
      const answer = await searchJSON(catalog(), search);
      let entities = answer.results.map((result) => result.entity);
      if (text && !entities.length) {
        entities = await getEntity(catalog(), text).then((entity) => [entity], () => []);
      }
      if (number !== asked) return;
      const start = isNextPage ? list.childElementCount : 0;
      if (!isNextPage) list.replaceChildren();
      list.append(...entities.map(row));
      if (!list.childElementCount) list.append(element("li", "hint", text ? "Nothing has this name." : "Nothing yet."));
      cursor = answer.next ?? null;
      more.hidden = !cursor;
      if (isNextPage) list.children[start]?.querySelector("button").focus();
    });
  }

  more.addEventListener("click", () => browse(true));
  let timer;
  field("browse").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(browse, 200);
  });

  function edit(entity) {
    edited = entity;
    field("edit-title").textContent = `Change ${isolated(nameOf(entity))}`;
    field("edit-name").value = entity.title ?? "";
    field("edit-subtitle").value = entity.subtitle ?? "";
    field("edit-type").value = entity.type ?? "";
    field("edit-labels").value = entity.labels.join("\n");
    field("edit-attributes").value = Object.entries(entity.attributes).map((pair) => pair.join(": ")).join("\n");
    field("edit-error").hidden = true;
    disarm();
    field("edit-dialog").showModal();
  }

  const focusRow = (id) => {
    const rows = [...list.children];
    (rows.find((item) => item.dataset.id === id) ?? rows[0])?.querySelector("button")?.focus();
  };

  field("edit-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const { id, attributes } = edited;
    let changed;
    const isDone = await attempt(async () => {
      const given = attributesOf(field("edit-attributes").value);
      const removed = Object.keys(attributes).filter((name) => !(name in given)).map((name) => [name, null]);
      changed = await patchEntity(catalog(), id, {
        title: field("edit-name").value.trim() || null, subtitle: field("edit-subtitle").value.trim() || null,
        type: field("edit-type").value.trim() || null, labels: lines(field("edit-labels").value),
        attributes: { ...given, ...Object.fromEntries(removed) },
      });
    }, field("edit-error"));
    if (!isDone) return;
    field("edit-dialog").close();
    status.textContent = `${isolated(nameOf(changed))} was changed.`;
    [...list.children].find((item) => item.dataset.id === id)?.replaceWith(row(changed));
    focusRow(id);
    onChanged();
  });

  let isArmed = false;
  function disarm() {
    isArmed = false;
    field("edit-delete").textContent = "Delete";
  }

  field("edit-delete").addEventListener("click", async () => {
    if (!isArmed) {
      isArmed = true;
      field("edit-delete").textContent = "Delete it for good";
      return;
    }
    const { id } = edited;
    if (!await attempt(() => deleteEntity(catalog(), id), field("edit-error"))) return disarm();
    field("edit-dialog").close();
    status.textContent = `${isolated(nameOf(edited))} was deleted.`;
    const item = [...list.children].find((other) => other.dataset.id === id);
    const next = (item?.nextElementSibling ?? item?.previousElementSibling)?.dataset.id;
    item?.remove();
    focusRow(next);
    onChanged();
  });
  field("edit-close").addEventListener("click", () => field("edit-dialog").close());

  // MARK: Catalogs

  field("create-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const name = field("create-name").value.trim();
    if (!await attempt(() => putCatalog(name))) return;
    field("create-name").value = "";
    await onCatalogs(name);
    status.textContent = `The catalog ${name} is open.`;
    field("manage-title").focus();
  });
  field("remove-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const name = catalog();
    const isDone = await attempt(async () => {
      if (field("remove-name").value.trim() !== name) throw new Error(`This catalog is ${name}: nothing was deleted.`);
      await deleteCatalog(name);
    });
    if (!isDone) return;
    field("remove-name").value = "";
    await onCatalogs();
    status.textContent = `The catalog ${name} was deleted.`;
    field("manage-title").focus();
  });

  return (isOpening = false) => {
    if (isOpening) {
      field("browse").value = "";
      status.textContent = "";
    }
    return browse();
  };
}
