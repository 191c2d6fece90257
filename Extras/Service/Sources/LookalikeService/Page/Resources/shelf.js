// The catalog itself: its entities by filters, in an order, without a photo.

import { listEntities, showImage } from "./api.js";
import { element, nameOf } from "./cards.js";
import { Filters } from "./filters.js";

const PAGE_SIZE = 24;
/** Attributes to sort by: those that most entities have. */
const MOST_ORDERS = 4;

const field = (id) => document.getElementById(id);
const [list, title, more, order] = ["shelf-list", "shelf-title", "shelf-more", "order"].map(field);
const quoted = (text) => `"${text.replace(/[\\"]/g, "\\$&")}"`;
const number = (value) => value.toLocaleString("en");

/** The start of the page shows what is in the catalog, to be browsed. */
export class Shelf {
  /**
   * @param onChoose called with an entity that was chosen
   * @param onChange called when a person changed the filters or the order
   */
  constructor(onChoose, onChange) {
    this.onChoose = onChoose;
    this.catalog = null;
    this.cursor = null;
    this.requests = 0;
    const change = () => {
      onChange();
      return this.show();
    };
    this.filters = new Filters(field("shelf-filters"), change);
    order.addEventListener("change", change);
    more.addEventListener("click", () => this.show(true));
  }

  /** Shows a catalog; as before, if that was shown already. */
  open(catalog) {
    if (catalog.name !== this.catalog?.name) this.filters.clear();
    const chosen = catalog.name === this.catalog?.name ? order.value : "";
    this.catalog = catalog;
    order.replaceChildren(
      new Option("As in the catalog", ""), new Option("By name", "title"),
      ...Filters.attributes(catalog, MOST_ORDERS).flatMap((name) => [
        new Option(`By ${name}, upwards`, `attribute.${name}`),
        new Option(`By ${name}, downwards`, `-attribute.${name}`),
      ]));
    this.sortBy(chosen);
    return this.show();
  }

  sortBy(value) {
    order.value = value;
    if (order.selectedIndex < 0) order.value = "";
  }

  get isChanged() {
    return this.filters.isActive || order.value !== "";
  }

  /** Writes the filters and the order into the values of an address. */
  remember(values) {
    this.filters.remember(values);
    if (order.value) values.set("sort", order.value);
  }

  /** Shows what an address says. */
  async restore(values) {
    if (!this.catalog) return;
    const before = `${this.options()}`;
    this.filters.chosen = new Map(Filters.in(values));
    this.sortBy(values.get("sort") ?? "");
    if (`${this.options()}` !== before) await this.show();
  }

  /** @param except a facet whose own value does not count */
  options(except) {
    const conditions = [...this.filters.chosen].filter(([key]) => key !== except)
      .map(([key, value]) => `${quoted(key)} = ${quoted(value)}`);
    const options = new URLSearchParams();
    if (conditions.length) options.set("filter", conditions.join(" and "));
    if (order.value) options.set("sort", order.value);
    return options;
  }

  async show(isNextPage = false) {
    this.requests += 1;
    const request = this.requests;
    const { name } = this.catalog;
    const keys = Filters.keys(this.catalog);
    const chosen = keys.filter((key) => this.filters.chosen.has(key));
    /** A list with the facets of some keys, if there are any. */
    const listed = (own, limit, facets) => {
      const options = this.options(own);
      options.set("limit", limit);
      if (isNextPage) options.set("cursor", this.cursor);
      else options.set("counts", "everything");
      if (facets.length && !isNextPage) options.set("facets", facets.join(","));
      return listEntities(name, options);
    };
    let answers;
    try {
      answers = await Promise.all([
        listed(undefined, PAGE_SIZE, keys.filter((key) => !chosen.includes(key))),
        // A chosen value does not hide the others of its filter.
        ...(isNextPage ? [] : chosen.map((key) => listed(key, 1, [key]))),
      ]);
    } catch {
      // A database elsewhere lists nothing.
      if (request === this.requests && !isNextPage) field("shelf").hidden = true;
      return;
    }
    if (request !== this.requests) return;
    const { entities, next } = answers[0];
    this.cursor = next ?? null;
    more.hidden = !this.cursor;
    const start = isNextPage ? list.childElementCount : 0;
    if (!isNextPage) list.replaceChildren();
    list.append(...entities.map((entity) => this.item(entity)));
    if (isNextPage) {
      list.children[start]?.querySelector("button").focus();
      return;
    }
    const { count } = answers[0].counts[0];
    title.textContent = this.filters.isActive
      ? `${number(count)} of the ${number(this.catalog.entities)} in the catalog` : `${number(count)} in the catalog`;
    const facets = answers.flatMap((answer) => answer.facets ?? [])
      .sort((a, b) => keys.indexOf(a.key) - keys.indexOf(b.key));
    this.filters.show(facets, count);
    order.parentElement.hidden = this.catalog.entities < 2;
    field("shelf").hidden = !this.catalog.entities;
  }

  item(entity) {
    const item = element("li");
    const image = element("img");
    image.alt = "";
    image.loading = "lazy";
    showImage(image, entity.thumbnail);
    const like = element("button");
    like.type = "button";
    like.addEventListener("click", () => this.onChoose(entity));
    like.setAttribute("aria-label", `More like ${nameOf(entity)}`);
    like.append(image, element("span", "", nameOf(entity)));
    item.append(like);
    return item;
  }
}
