// Adding entities to the catalog.

import { putEntity } from "./api.js";
import { acceptDrops, prepared } from "./photo.js";

/** @param catalog returns the name of the catalog; @param onAdded called when entities were added */
export function setUpAdding(catalog, onAdded, onNoKey) {
  const field = (id) => document.getElementById(id);
  const input = field("add-files");
  const [progress, status, list] = [field("add-progress"), field("add-status"), field("add-list")];

  function line(text, className) {
    const item = document.createElement("li");
    item.textContent = text;
    item.className = className;
    list.prepend(item);
  }

  async function add(files) {
    const fields = {
      subtitle: field("add-subtitle").value, type: field("add-type").value, labels: field("add-labels").value,
    };
    const title = field("add-title").value.trim();
    let added = 0;
    progress.parentElement.hidden = false;
    for (const [index, file] of files.entries()) {
      const name = (file.name || "image").replace(/\.[^.]*$/, "");
      // Several images cannot have one title.
      const isNamed = title && files.length === 1;
      const id = isNamed ? title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-") : name;
      status.textContent = `Adding ${index + 1} of ${files.length}…`;
      try {
        const image = await prepared(file);
        await putEntity(catalog(), id, image, { ...fields, title: isNamed ? title : name }, (part) => {
          progress.value = (index + part) / files.length;
        });
        added += 1;
        line(`${isNamed ? title : name} was added`, "good");
      } catch (error) {
        line(`${file.name || "The image"}: ${error.message}`, "bad");
        if (error.status === 401 || error.status === 403) {
          onNoKey();
          break;
        }
      }
      progress.value = (index + 1) / files.length;
    }
    progress.parentElement.hidden = true;
    status.textContent = `${added} of ${files.length} added.`;
    if (added) onAdded();
  }

  acceptDrops(field("add-drop"), add);
  field("add-choose").addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    if (input.files.length) add([...input.files]);
    input.value = "";
  });
  field("add-form").addEventListener("submit", (event) => event.preventDefault());
}
