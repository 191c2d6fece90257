// Entities by name: what was typed may be an id, or have mistakes.

import { getEntity, searchJSON } from "./api.js";

const wordsOf = (text) => (
  text.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "").match(/[\p{L}\p{N}]+/gu) ?? []);

/** Letters to add, remove, change or swap between two words. */
function distance(a, b) {
  const rows = Array.from({ length: a.length + 1 }, (_, i) => [i]);
  for (let j = 1; j <= b.length; j += 1) rows[0][j] = j;
  for (let i = 1; i <= a.length; i += 1) {
    for (let j = 1; j <= b.length; j += 1) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      rows[i][j] = Math.min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + change);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwapped) rows[i][j] = Math.min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.length][b.length];
}

/** The entities of a name; that of an id; or those of a similar name. */
export async function entitiesNamed(catalog, name, signal) {
  const found = await searchJSON(catalog, { text: name, limit: 50 }, signal);
  if (found.results.length) return found;
  try {
    return { results: [{ entity: await getEntity(catalog, name) }] };
  } catch (failure) {
    if (failure.status !== 404 && failure.status !== 400) throw failure;
  }
  const typed = wordsOf(name).filter((word) => word.length > 2);
  /** The letters that are wrong in all words; infinite for a word that has too many. */
  const mistakes = (entity) => {
    const own = wordsOf([entity.title, entity.subtitle, ...entity.labels].join(" "));
    return typed.map((word) => {
      const least = Math.min(...own.map((other) => distance(word, other)));
      return least <= (word.length < 5 ? 1 : 2) ? least : Infinity;
    }).reduce((sum, number) => sum + number, 0);
  };
  // Names that begin as a word does: the first letters are right more often than the others.
  for (const length of [2, 1]) {
    const starts = [...new Set(typed.map((word) => word.slice(0, length)))].slice(0, 4);
    const answers = await Promise.all(
      starts.map((text) => searchJSON(catalog, { text, limit: 200 }, signal)));
    const entities = new Map(answers.flatMap((answer) => answer.results.map(({ entity }) => [entity.id, entity])));
    const near = [...entities.values()].map((entity) => [mistakes(entity), entity])
      .filter(([number]) => number < Infinity).sort(([a], [b]) => a - b).slice(0, 5);
    if (near.length) return { results: near.map(([, entity]) => ({ entity })), isNear: true };
  }
  return { results: [] };
}
