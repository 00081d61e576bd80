// The list of sources beside the picture: who is there and how it stands; one of them is chosen.

import { rate, size } from "./figures.js";
import { standing } from "./words.js";

export class Sources {
  #list;
  #rows = new Map();
  #chosen = null;

  /** Shows itself in the element `list`. */
  constructor(list) {
    this.#list = list;
  }

  /** Brings the list up to date. */
  show(sources, chosen) {
    const ids = new Set(sources.map((source) => source.id));
    for (const [id, row] of this.#rows) if (!ids.has(id)) this.#forget(id, row);
    for (const source of sources) fill(this.#row(source.id), source, source.id === chosen);
    if (chosen !== this.#chosen) this.#list.scrollLeft = this.#row(chosen).offsetLeft - this.#list.firstElementChild.offsetLeft;
    this.#chosen = chosen;
  }

  #row(id) {
    if (!this.#rows.has(id)) {
      const row = newRow(id);
      this.#list.append(row.parentElement);
      this.#rows.set(id, row);
    }
    return this.#rows.get(id);
  }

  #forget(id, row) {
    row.parentElement.remove();
    this.#rows.delete(id);
  }
}

function fill(row, source, chosen) {
  const [, , facts] = row.children;
  const { state, words } = standing(source);
  row.dataset.state = state;
  row.setAttribute("aria-current", String(chosen));
  facts.textContent = state === "live" ? `${rate(source)} fps · ${size(source.geometry)}` : words;
}

function newRow(id) {
  const row = document.createElement("a");
  row.href = `#source=${id}`;
  row.className = "source";
  for (const name of ["dot", "name", "facts"]) {
    const part = document.createElement("span");
    part.className = name;
    row.append(part);
  }
  row.children[1].textContent = id;
  document.createElement("li").append(row);
  return row;
}
