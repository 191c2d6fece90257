// Filters by type, label and attribute, with the number of results that have each value.

const MOST_ATTRIBUTES = 6;
const MOST_VALUES = 40;

const capitalized = (name) => name.charAt(0).toUpperCase() + name.slice(1);

export class Filters {
  constructor(element, onChange) {
    this.element = element;
    this.onChange = onChange;
    this.chosen = new Map();
    // One menu at a time.
    document.addEventListener("click", (event) => {
      for (const menu of this.element.querySelectorAll("details[open]")) {
        if (!menu.contains(event.target)) menu.open = false;
      }
    });
    element.addEventListener("keydown", (event) => {
      const menu = event.target.closest("details[open]");
      if (event.key !== "Escape" || !menu) return;
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  }

  /** The facets that a catalog's entities have. */
  static keys(catalog) {
    const keys = [];
    if (Object.keys(catalog.types).filter(Boolean).length) keys.push("type");
    if (Object.keys(catalog.labels).length) keys.push("label");
    const names = Object.entries(catalog.attributes).sort((a, b) => b[1] - a[1]).slice(0, MOST_ATTRIBUTES);
    return keys.concat(names.map(([name]) => `attribute.${name}`));
  }

  clear() {
    this.chosen.clear();
    this.element.replaceChildren();
    this.element.hidden = true;
  }

  get isActive() {
    return [...this.chosen.values()].some((values) => values.size);
  }

  /** The conditions of a search. */
  search() {
    const search = {};
    for (const [key, values] of this.chosen) {
      if (!values.size) continue;
      if (key === "type") search.types = [...values];
      else if (key === "label") search.labels = [...values];
      else (search.attributes ??= {})[key.slice("attribute.".length)] = [...values];
    }
    return search;
  }

  show(facets) {
    this.element.replaceChildren(...facets.filter((facet) => facet.values.length).map((facet) => this.menu(facet)));
    this.element.hidden = !this.element.childElementCount;
  }

  menu({ key, values }) {
    const name = key === "type" ? "Type" : key === "label" ? "Label" : capitalized(key.slice("attribute.".length));
    const menu = document.createElement("details");
    const summary = document.createElement("summary");
    const fields = document.createElement("fieldset");
    fields.setAttribute("aria-label", name);
    const chosen = this.chosen.get(key) ?? new Set();
    this.chosen.set(key, chosen);
    const label = () => {
      menu.classList.toggle("on", chosen.size > 0);
      summary.textContent = chosen.size ? `${name}: ${[...chosen].join(", ")}` : `${name} ▾`;
    };
    for (const { value, count } of values.slice(0, MOST_VALUES)) {
      const line = document.createElement("label");
      const box = document.createElement("input");
      box.type = "checkbox";
      box.checked = chosen.has(value);
      box.value = value;
      box.addEventListener("change", () => {
        if (box.checked) chosen.add(value);
        else chosen.delete(value);
        label();
        this.onChange();
      });
      const number = document.createElement("span");
      number.textContent = count;
      line.append(box, value, number);
      fields.append(line);
    }
    label();
    menu.append(summary, fields);
    return menu;
  }
}
