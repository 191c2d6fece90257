// Adding entities to the catalog: photos are chosen, named, and sent when the person says so.

import { deleteEntity, getEntity, putEntity, undoPut } from "./api.js";
import { button, element, isolated } from "./cards.js";
import { acceptDrops, files as filesOf, prepared } from "./photo.js";

/** The letters and digits of a name, and some that no other phone draws: cameras call all photos alike. */
function newID(name) {
  const words = name.toLowerCase().normalize("NFKC").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
  const drawn = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => (byte % 36).toString(36)).join("");
  return `${words.slice(0, 80) || "photo"}-${drawn}`;
}

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
          if (error.status === 401 || error.status === 403) onNoKey();
        }
      });
      item.append(" ", undo);
    }
    list.prepend(item);
    return item;
  }

  function show() {
    field("add-draft").hidden = !draft.length;
    // One id is not that of several.
    field("add-id-field").hidden = draft.length !== 1;
    field("add-send").textContent = `Add ${draft.length === 1 ? "it" : `all ${draft.length}`} to ${catalog()}`;
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
      item.append(image, label, remove);
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
        if (error.status === 401 || error.status === 403) onNoKey();
      }
    }
    show();
    field("add-items").querySelector("li:last-child input")?.focus();
  }

  function cancel() {
    for (const { url } of draft) URL.revokeObjectURL(url);
    draft = [];
    field("add-id").value = "";
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

  /** @returns whether the photo was sent */
  async function send(entry, fields, id, onProgress) {
    const title = entry.title || "Untitled";
    const place = catalog();
    try {
      const { isNew, tag } = await putEntity(place, id, entry.image, { ...fields, title: entry.title }, onProgress);
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
      if (error.status === 401 || error.status === 403) onNoKey();
      return false;
    }
  }

  let confirmed = null;

  field("add-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!draft.length) return;
    const ownID = draft.length === 1 ? field("add-id").value.trim() : "";
    const sender = field("add-send");
    sender.disabled = true;
    try {
      if (ownID && confirmed !== ownID && await exists(ownID)) {
        confirmed = ownID;
        field("add-warning").textContent =
          `There is an entity with the id ${isolated(ownID)} already. Sending replaces it with its photo.`;
        sender.textContent = "Replace it";
        return;
      }
      confirmed = null;
      field("add-warning").textContent = "";
      const fields = {
        type: field("add-type").value.trim(), labels: field("add-labels").value.trim(),
        "attribute.url": field("add-url").value.trim(),
      };
      const all = [...draft];
      progress.hidden = false;
      let sent = 0;
      for (const [index, entry] of all.entries()) {
        status.textContent = `Adding ${index + 1} of ${all.length}…`;
        const isSent = await send(entry, fields, ownID || newID(entry.title), (part) => {
          progress.value = (index + part) / all.length;
        });
        if (!isSent) break;
        sent += 1;
        draft = draft.filter((other) => other !== entry);
        URL.revokeObjectURL(entry.url);
      }
      // What was not sent stays, to be sent again.
      status.textContent = `${sent} of ${all.length} sent.`;
      if (draft.length) show();
      else cancel();
      if (sent) onChanged();
      if (!draft.length) field("add-choose").focus();
    } catch (error) {
      status.textContent = error.message;
      if (error.status === 401 || error.status === 403) onNoKey();
    } finally {
      sender.disabled = false;
      progress.hidden = true;
    }
  });
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
