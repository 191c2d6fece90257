// Adding entities to the catalog: photos are chosen, named, and sent when the person says so.

import { deleteEntity, getEntity, putEntity, searchImage, undoPut } from "./api.js";
import { button, element, isolated, nameOf } from "./cards.js";
import { acceptDrops, files as filesOf, prepared } from "./photo.js";

/** The letters and digits of a name, and some that no other phone draws: cameras call all photos alike. */
function newID(name) {
  const words = name.toLowerCase().normalize("NFKC").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
  const drawn = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => (byte % 36).toString(36)).join("");
  return `${words.slice(0, 80) || "photo"}-${drawn}`;
}

/** How sure it is that the catalog has a photo's thing, for a warning. */
const LEAST_CONFIDENCE = 0.75;

/** A file's name, unless it is one that cameras and phones give to all. */
function titleOf(file) {
  const name = (file.name ?? "").replace(/\.[^.]*$/, "").replace(/[_-]+/g, " ").trim();
  return /^(image|img|photo|pxl|dsc|dscn|screenshot|bild|unnamed)?[\s\d()]*$/i.test(name) ? "" : name;
}

/**
 * @param context.catalog returns the name of the catalog
 * @param context.onChanged called when entities were added or removed
 * @param context.onNoKey called when a key is needed
 */
export function setUpAdding({ catalog, onChanged, onNoKey }) {
  const field = (id) => document.getElementById(id);
  const input = field("add-files");
  const [progress, status, list] = [field("add-progress"), field("add-status"), field("add-list")];
  let draft = [];
  /** The id of an entity that is to be replaced, when that was said. */
  let confirmed = null;

  function line(text, className, label, action) {
    const item = element("li", className, text);
    if (action) {
      const undo = button(label, "quiet", async () => {
        undo.disabled = true;
        try {
          await action();
        } catch (error) {
          undo.disabled = false;
          status.textContent = error.message;
          if (error.needsKey) onNoKey();
        }
      });
      item.append(" ", undo);
    }
    list.prepend(item);
    return item;
  }

  /** Whether the photos are of one entity. */
  const isOne = () => draft.length === 1 || (draft.length > 1 && field("add-together").checked);

  function show() {
    field("add-draft").hidden = !draft.length;
    // One id is not that of several.
    field("add-id-field").hidden = !isOne();
    field("add-together-field").hidden = draft.length < 2;
    const isConfirmed = confirmed !== null;
    field("add-send").textContent =
      isConfirmed ? "Replace it" : `Add ${isOne() ? "it" : `all ${draft.length}`} to ${catalog()}`;
    field("add-items").replaceChildren(...draft.map((entry) => {
      const item = element("li");
      const image = element("img", "thumb");
      image.alt = "";
      image.src = entry.url;
      const label = element("label", "", "Title ");
      const title = element("input");
      title.maxLength = 500;
      title.dir = "auto";
      title.value = entry.title;
      title.addEventListener("input", () => { entry.title = title.value.trim(); });
      label.append(title);
      const remove = button("✕", "quiet", () => {
        draft = draft.filter((other) => other !== entry);
        URL.revokeObjectURL(entry.url);
        show();
        (field("add-items").querySelector("input") ?? field("add-choose")).focus();
      });
      remove.setAttribute("aria-label", `Leave out ${entry.name}`);
      // The first title is that of all.
      label.hidden = isOne() && entry !== draft[0];
      item.append(image, label.hidden ? element("span") : label, remove);
      if (entry.known) {
        item.append(element("p", "known", `The catalog seems to have it already: ${isolated(nameOf(entry.known))}`));
      }
      return item;
    }));
  }

  /** Shows photos, to be named and sent. */
  async function choose(chosen) {
    status.textContent = "";
    for (const file of chosen) {
      status.textContent = "Opening the photos…";
      try {
        const image = await prepared(file);
        draft.push({ image, url: URL.createObjectURL(image), title: titleOf(file), name: file.name || "the photo" });
        status.textContent = "";
      } catch (error) {
        status.textContent = "";
        line(`${isolated(file.name || "The photo")}: ${error.message}`, "bad");
        if (error.needsKey) onNoKey();
      }
    }
    show();
    field("add-items").querySelector("li:last-child input")?.focus();
    for (const entry of draft.filter(({ isCompared }) => !isCompared)) await compare(entry);
  }

  /** Looks whether the catalog has what a photo shows; what is typed meanwhile stays. */
  async function compare(entry) {
    entry.isCompared = true;
    try {
      const { results } = await searchImage(catalog(), entry.image, { limit: 1 }, null, undefined, true);
      if (!draft.includes(entry) || !(results[0]?.confidence >= LEAST_CONFIDENCE)) return;
      entry.known = results[0].entity;
    } catch {
      return; // It can be added all the same.
    }
    const focused = document.activeElement;
    const index = [...field("add-items").children].findIndex((item) => item.contains(focused));
    const selection = index < 0 ? null : [focused.selectionStart, focused.selectionEnd];
    show();
    const again = field("add-items").children[index]?.querySelector(focused.localName);
    again?.focus();
    if (selection && again?.setSelectionRange) again.setSelectionRange(...selection);
  }

  function cancel() {
    for (const { url } of draft) URL.revokeObjectURL(url);
    draft = [];
    confirmed = null;
    field("add-id").value = "";
    field("add-together").checked = false;
    field("add-warning").textContent = "";
    show();
  }

  /** Whether an entity of this id is there already. */
  async function exists(id) {
    try {
      await getEntity(catalog(), id);
      return true;
    } catch (error) {
      if (error.status === 404) return false;
      throw error;
    }
  }

  /** Sends the photos of an entity. @returns whether they were sent */
  async function send(entries, fields, id, onProgress) {
    const title = entries[0].title || "Untitled";
    const place = catalog();
    try {
      const images = entries.map(({ image }) => image);
      const { isNew, tag } = await putEntity(place, id, images, { ...fields, title: entries[0].title }, onProgress);
      const undo = async () => {
        if (tag) await undoPut(place, id, tag);
        else await deleteEntity(place, id);
        const outcome = tag ? "not replaced after all" : isNew ? "not added after all" : "deleted";
        item.replaceWith(element("li", "", `${isolated(title)} was ${outcome}`));
        onChanged();
      };
      const item = line(
        `${isolated(title)} was ${isNew ? "added" : "replaced"}`, "good", isNew || tag ? "Undo" : "Delete", undo);
      return true;
    } catch (error) {
      line(`${isolated(title)}: ${error.message}`, "bad");
      if (error.needsKey) onNoKey();
      return false;
    }
  }

  field("add-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!draft.length) return;
    const ownID = isOne() ? field("add-id").value.trim() : "";
    const sender = field("add-send");
    sender.disabled = true;
    try {
      if (ownID && confirmed !== ownID && await exists(ownID)) {
        confirmed = ownID;
        field("add-warning").textContent =
          `There is an entity with the id ${isolated(ownID)} already. Sending replaces it with its photo.`;
        show();
        return;
      }
      confirmed = null;
      field("add-warning").textContent = "";
      const fields = {
        type: field("add-type").value.trim(), labels: field("add-labels").value.trim(),
        "attribute.url": field("add-url").value.trim(),
      };
      const all = isOne() ? [[...draft]] : draft.map((entry) => [entry]);
      progress.hidden = false;
      let sent = 0;
      for (const [index, entries] of all.entries()) {
        status.textContent = `Adding ${index + 1} of ${all.length}…`;
        const isSent = await send(entries, fields, ownID || newID(entries[0].title), (part) => {
          progress.value = (index + part) / all.length;
        });
        if (!isSent) break;
        sent += 1;
        draft = draft.filter((other) => !entries.includes(other));
        for (const { url } of entries) URL.revokeObjectURL(url);
      }
      // What was not sent stays, to be sent again.
      status.textContent = `${sent} of ${all.length} sent.`;
      if (draft.length) show();
      else cancel();
      if (sent) onChanged();
      if (!draft.length) field("add-choose").focus();
    } catch (error) {
      status.textContent = error.message;
      if (error.needsKey) onNoKey();
    } finally {
      sender.disabled = false;
      progress.hidden = true;
    }
  });
  field("add-together").addEventListener("change", show);
  field("add-id").addEventListener("input", () => {
    if (confirmed === null) return;
    confirmed = null;
    field("add-warning").textContent = "";
    show();
  });
  acceptDrops(field("add-drop"), choose);
  field("add-choose").addEventListener("click", () => input.click());
  field("add-cancel").addEventListener("click", () => {
    cancel();
    field("add-choose").focus();
  });
  input.addEventListener("change", () => {
    const chosen = filesOf(input);
    if (chosen.length) choose(chosen);
    input.value = "";
  });
}
