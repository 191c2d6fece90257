// Filters by type, label and attribute, with the number of results that have each value.

import { element } from "./cards.js";

/** Attributes that are counted, and filters that are shown. */
const MOST_ATTRIBUTES = 12;
const MOST_FILTERS = 6;
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
    return keys.concat(Filters.attributes(catalog, MOST_ATTRIBUTES).map((name) => `attribute.${name}`));
  }

  /** The attributes that most entities have. */
  static attributes(catalog, most) {
    return Object.entries(catalog.attributes).filter(([name]) => name.toLowerCase() !== "url")
      .sort((a, b) => b[1] - a[1]).slice(0, most).map(([name]) => name);
  }

  /** The values that an address has, by their keys. */
  static in(address) {
    return [...address].filter(([key]) => key.startsWith("where."))
      .map(([key, value]) => [key.slice("where.".length), value]);
  }

  /** Writes what is chosen into the values of an address. */
  remember(address) {
    for (const [key, value] of this.chosen) address.set(`where.${key}`, value);
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

  /**
   * How evenly the values of a facet divide the results: the probability that two of them differ. What is different
   * for nearly all results, as a number of an article is, comes last.
   */
  static division({ values }, count) {
    const without = Math.max(0, values.reduce((left, value) => left - value.count, count));
    const same = [...values.map((value) => value.count), without]
      .reduce((sum, number) => sum + (number / count) ** 2, 0);
    const isOfEach = values.length > 8 && values[0].count === 1;
    return isOfEach ? 0 : Math.max(0, 1 - same);
  }

  /**
   * Shows the facets of a result that divide it. A menu that is open stays open, and what has the focus keeps it.
   *
   * @param count the results that are known; there may be more
   */
  show(facets, count) {
    const open = this.container.querySelector("details[open]")?.dataset.key;
    const focused = this.container.contains(document.activeElement) ? document.activeElement : null;
    const { key, value } = { key: focused?.closest("details").dataset.key, value: focused?.value };
    // What all results have narrows nothing.
    const counts = facets.flatMap(({ key: name, values }) => values
      .filter(({ value }) => !this.isActive || this.chosen.get(name) === value).map((value) => value.count));
    const most = Math.max(count, ...counts);
    const dividing = facets
      .map(({ key: name, values }) => ({ key: name, values: values.filter((item) => item.count < most) }))
      .filter((facet) => facet.values.length && !this.chosen.has(facet.key))
      .sort((a, b) => Filters.division(b, most) - Filters.division(a, most)).slice(0, MOST_FILTERS);
    const shown = facets.flatMap((facet) => (
      this.chosen.has(facet.key) ? [facet] : dividing.filter((other) => other.key === facet.key)));
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
      // A page may have several groups of filters.
      box.name = `${this.container.id} ${key}`;
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
