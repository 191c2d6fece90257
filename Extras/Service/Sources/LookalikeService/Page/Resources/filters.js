// Filters by type, label and attribute, with the number of results that have each value.

import { element } from "./cards.js";

const MOST_ATTRIBUTES = 6;
const MOST_VALUES = 40;

const capitalized = (name) => name.charAt(0).toUpperCase() + name.slice(1);

/** Menus of one value each; together they narrow what is shown. */
export class Filters {
  constructor(container, onChange) {
    this.container = container;
    this.onChange = onChange;
    this.chosen = new Map();
    // One menu at a time.
    document.addEventListener("click", (event) => {
      for (const menu of this.container.querySelectorAll("details[open]")) {
        if (!menu.contains(event.target)) menu.open = false;
      }
    });
    // This event goes up to no parent.
    container.addEventListener("toggle", () => this.makeRoom(), true);
    container.addEventListener("keydown", (event) => {
      const menu = event.target.closest("details[open]");
      if (event.key !== "Escape" || !menu) return;
      event.preventDefault();
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  }

  /** The facets that a catalog's entities have. */
  static keys(catalog) {
    const keys = [];
    if (Object.keys(catalog.types).filter(Boolean).length) keys.push("type");
    if (Object.keys(catalog.labels).length) keys.push("label");
    const names = Object.entries(catalog.attributes).filter(([name]) => name.toLowerCase() !== "url")
      .sort((a, b) => b[1] - a[1]).slice(0, MOST_ATTRIBUTES);
    return keys.concat(names.map(([name]) => `attribute.${name}`));
  }

  clear() {
    this.chosen.clear();
    this.container.replaceChildren();
    this.container.hidden = true;
    this.makeRoom();
  }

  /** Moves what follows below an open menu: half a heading under it looks broken. */
  makeRoom() {
    const fields = this.container.querySelector("details[open] fieldset");
    this.container.style.setProperty("--menu", `${fields?.offsetHeight ?? 0}px`);
  }

  get isActive() {
    return this.chosen.size > 0;
  }

  /** The conditions of a search. @param except a facet whose own value does not count */
  search(except) {
    const search = {};
    for (const [key, value] of this.chosen) {
      if (key === except) continue;
      if (key === "type") search.types = [value];
      else if (key === "label") search.labels = [value];
      else (search.attributes ??= {})[key.slice("attribute.".length)] = [value];
    }
    return search;
  }

  /** Shows the facets of a result. A menu that is open stays open, and what has the focus keeps it. */
  show(facets) {
    const open = this.container.querySelector("details[open]")?.dataset.key;
    const focused = this.container.contains(document.activeElement) ? document.activeElement : null;
    const { key, value } = { key: focused?.closest("details").dataset.key, value: focused?.value };
    // One value alone narrows nothing.
    const shown = facets.filter((facet) => facet.values.length > 1 || this.chosen.has(facet.key));
    this.container.replaceChildren(...shown.map((facet) => this.menu(facet)));
    this.container.hidden = !shown.length;
    for (const menu of this.container.children) {
      menu.open = menu.dataset.key === open;
      if (menu.dataset.key !== key) continue;
      const boxes = [...menu.querySelectorAll("input")];
      (boxes.find((box) => box.value === value) ?? menu.querySelector("summary")).focus();
    }
    this.makeRoom();
  }

  menu({ key, values }) {
    const name = key === "type" ? "Type" : key === "label" ? "Label" : capitalized(key.slice("attribute.".length));
    const [menu, fields] = [element("details"), element("fieldset")];
    menu.dataset.key = key;
    fields.setAttribute("aria-label", name);
    const chosen = this.chosen.get(key);
    menu.classList.toggle("on", chosen !== undefined);
    const line = (text, value, count) => {
      const label = element("label");
      const box = element("input");
      box.type = "radio";
      box.name = key;
      box.value = value ?? "";
      box.checked = chosen === value;
      box.addEventListener("change", () => {
        if (value === undefined) this.chosen.delete(key);
        else this.chosen.set(key, value);
        this.onChange();
      });
      label.append(box, element("span", "value", text));
      if (count !== undefined) label.append(element("span", "count", String(count)));
      fields.append(label);
    };
    line("Any", undefined);
    const known = values.slice(0, MOST_VALUES);
    if (chosen !== undefined && !known.some(({ value }) => value === chosen)) known.push({ value: chosen, count: 0 });
    for (const { value, count } of known) line(value, value, count);
    menu.append(element("summary", "", chosen === undefined ? name : `${name}: ${chosen}`), fields);
    return menu;
  }
}
