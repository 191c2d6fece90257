// The view that changes a catalog: what is in it, entities, and catalogs as a whole.

import {
  addImages, allEntities, deleteCatalog, deleteEntity, getEntity, getImages, listEntities, patchEntity, putCatalog,
  removeImage, showImage, undoPut,
} from "./api.js";
import { button, element, isolated, nameOf } from "./cards.js";
import { acceptDrops, files as filesOf, prepared } from "./photo.js";

const PAGE_SIZE = 30;
/** Changes that are sent at once: the service writes those that come together in one go. */
const AT_ONCE = 6;

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);
const things = (number) => (number === 1 ? "1 entity" : `${number.toLocaleString("en")} entities`);

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
  let requests = 0;
  let edited = null;
  /** The titles of the entities that are selected, by their ids; of some that are not shown, too. */
  const selected = new Map();

  function tell(failure, place = error) {
    place.textContent = failure.message;
    place.hidden = false;
    place.scrollIntoView({ block: "nearest" });
    if (failure.needsKey) onNoKey();
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
    const box = element("input");
    box.type = "checkbox";
    box.checked = selected.has(entity.id);
    box.setAttribute("aria-label", `Select ${nameOf(entity)}`);
    box.addEventListener("change", () => {
      if (box.checked) selected.set(entity.id, nameOf(entity));
      else selected.delete(entity.id);
      showSelection();
    });
    const image = element("img", "thumb");
    image.alt = "";
    image.loading = "lazy";
    showImage(image, entity.thumbnail);
    const text = element("div", "body");
    text.append(element("strong", "", nameOf(entity)), element("span", "sub", entity.id));
    const change = button("Change", "", () => edit(entity));
    change.setAttribute("aria-label", `Change ${nameOf(entity)}`);
    item.append(box, image, text, change);
    return item;
  }

  /** What the field asks for. */
  const asked = () => {
    const text = field("browse").value.trim();
    return text ? { text } : {};
  };

  async function browse(isNextPage = false) {
    requests += 1;
    const number = requests;
    const { text } = asked();
    await attempt(async () => {
      const answer = await listEntities(
        catalog(), { ...asked(), limit: PAGE_SIZE, ...(isNextPage && { cursor }) });
      let { entities } = answer;
      if (text && !entities.length) {
        entities = await getEntity(catalog(), text).then((entity) => [entity], () => []);
      }
      if (number !== requests) return;
      const start = isNextPage ? list.childElementCount : 0;
      if (!isNextPage) list.replaceChildren();
      list.append(...entities.map(row));
      if (!list.childElementCount) list.append(element("li", "hint", text ? "Nothing has this name." : "Nothing yet."));
      cursor = answer.next ?? null;
      more.hidden = !cursor;
      if (isNextPage) list.children[start]?.querySelector("button").focus();
      showSelection();
    });
  }

  // MARK: Several entities

  function showSelection() {
    const { size } = selected;
    field("selection").hidden = !size && !list.querySelector("input");
    field("select-none").hidden = !size;
    field("selected").hidden = !size;
    field("selected-count").textContent = size ? `${things(size)} selected` : "";
    for (const box of list.querySelectorAll("input")) box.checked = selected.has(box.closest("li").dataset.id);
    disarmMany();
  }

  field("select-all").addEventListener("click", () => attempt(async () => {
    for (const entity of await allEntities(catalog(), asked())) selected.set(entity.id, nameOf(entity));
    // An id was typed.
    if (!selected.size) for (const item of list.querySelectorAll("[data-id]")) selected.set(item.dataset.id, "");
    showSelection();
  }));
  field("select-none").addEventListener("click", () => {
    selected.clear();
    showSelection();
    field("select-all").focus();
  });

  /** Does something with each selected entity; what fails stays selected. */
  async function withEach(action, done) {
    const [progress, ids] = [field("many-progress"), [...selected.keys()]];
    const [place, total] = [catalog(), ids.length];
    let failure = null;
    let count = 0;
    error.hidden = true;
    progress.hidden = false;
    field("many-edit").disabled = true;
    field("many-delete").disabled = true;
    const worker = async () => {
      while (ids.length) {
        const id = ids.shift();
        try {
          await action(place, id);
          selected.delete(id);
        } catch (problem) {
          // Somebody else has removed it.
          if (problem.status === 404) selected.delete(id);
          failure ??= problem;
          if (problem.status !== 404 && (problem.needsKey || !problem.status)) ids.length = 0;
        }
        count += 1;
        progress.value = count / total;
        status.textContent = `${count} of ${things(total)} …`;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    progress.hidden = true;
    field("many-edit").disabled = false;
    field("many-delete").disabled = false;
    status.textContent = `${things(total - selected.size)} ${done}.`;
    if (failure) tell(new Error(`${selected.size} of ${total} could not be: ${failure.message}`));
    if (failure?.needsKey) onNoKey();
    showSelection();
    field("manage-status").scrollIntoView({ block: "nearest" });
    await onChanged();
    await browse();
  }

  field("many-edit").addEventListener("click", () => {
    field("many-form").reset();
    field("many-title").textContent = `Change ${things(selected.size)}`;
    field("many-error").hidden = true;
    field("many-dialog").showModal();
  });
  field("many-close").addEventListener("click", () => field("many-dialog").close());
  field("many-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const [added, removed] = [field("many-add").value, field("many-remove").value].map(lines);
    const patch = {};
    const isRead = await attempt(async () => {
      if (field("many-type").value.trim()) patch.type = field("many-type").value.trim();
      // Without a value, the attribute is removed.
      const attributes = Object.entries(attributesOf(field("many-attributes").value))
        .map(([name, value]) => [name, value || null]);
      if (attributes.length) patch.attributes = Object.fromEntries(attributes);
      if (!Object.keys(patch).length && !added.length && !removed.length) throw new Error("Nothing is to be changed.");
    }, field("many-error"));
    if (!isRead) return;
    field("many-dialog").close();
    await withEach(async (place, id) => {
      const own = { ...patch };
      if (added.length || removed.length) {
        const { labels } = await getEntity(place, id);
        own.labels = [...new Set([...labels, ...added])].filter((label) => !removed.includes(label));
      }
      await patchEntity(place, id, own);
    }, "changed");
    field("select-all").focus();
  });

  let isArmedForMany = false;
  function disarmMany() {
    isArmedForMany = false;
    field("many-delete").textContent = "Delete";
  }

  field("many-delete").addEventListener("click", async () => {
    if (!isArmedForMany) {
      isArmedForMany = true;
      field("many-delete").textContent = `Delete ${things(selected.size)} for good`;
      return;
    }
    disarmMany();
    await withEach(deleteEntity, "deleted");
    field("select-all").focus();
  });

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
    field("edit-images").replaceChildren();
    tellOfImages("");
    field("edit-dialog").showModal();
    changeImages(() => getImages(catalog(), entity.id), () => "");
  }

  // MARK: Pictures

  /** @param undo what puts back what was; nothing if it cannot be */
  function tellOfImages(text, undo = null) {
    field("edit-status").textContent = text;
    field("edit-undo").hidden = !undo;
    field("edit-undo").onclick = undo;
  }

  /**
   * Shows the pictures that a request answers.
   *
   * @param words what to say of the change, given the number of pictures before and after it
   */
  async function changeImages(request, words) {
    const { id } = edited;
    const before = field("edit-images").childElementCount;
    field("edit-add").disabled = true;
    await attempt(async () => {
      const { images, tag } = await request();
      if (edited.id !== id) return;
      const isOnly = images.length === 1;
      field("edit-images").replaceChildren(...images.map(({ id: name, thumbnail }, index) => {
        const item = element("li");
        const image = element("img", "thumb");
        image.alt = `Picture ${index + 1}`;
        showImage(image, thumbnail);
        item.append(image);
        if (isOnly) return item;
        const remove = button("Remove", "quiet", () => (
          changeImages(() => removeImage(catalog(), id, name), () => "The picture was removed.")));
        remove.setAttribute("aria-label", `Remove picture ${index + 1} of ${images.length}`);
        item.append(remove);
        return item;
      }));
      const text = words(before, images.length);
      tellOfImages(text, tag && (() => changeImages(async () => {
        await undoPut(catalog(), id, tag);
        return getImages(catalog(), id);
      }, () => "It is as it was.")));
      if (!text) return;
      field("edit-status").focus();
      const shown = [...list.children].find((other) => other.dataset.id === id);
      if (shown) showImage(shown.querySelector("img"), images[0].thumbnail);
      onChanged();
    }, field("edit-error"));
    field("edit-add").disabled = false;
  }

  async function addPictures(chosen) {
    const { id } = edited;
    tellOfImages("Adding…");
    await changeImages(async () => {
      const images = [];
      for (const file of chosen) images.push(await prepared(file));
      return addImages(catalog(), id, images);
    }, (before, after) => {
      const added = after - before;
      if (!added) return "It has this picture already.";
      return added === 1 ? "The picture was added." : `${added} pictures were added.`;
    });
    if (!field("edit-error").hidden) tellOfImages("");
  }

  field("edit-add").addEventListener("click", () => field("edit-files").click());
  field("edit-files").addEventListener("change", () => {
    const chosen = filesOf(field("edit-files"));
    field("edit-files").value = "";
    if (chosen.length) addPictures(chosen);
  });
  acceptDrops(field("edit-dialog"), addPictures);

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
    selected.delete(id);
    showSelection();
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
      selected.clear();
    }
    return browse();
  };
}
