// The list of sources beside the video, with the status of each; one is selected.

import { rate, size } from "./stats.js";
import { statusOf } from "./status-text.js";

export class Sources {
  #list;
  #rows = new Map();
  #selected = null;

  /** Renders into the element `list`. */
  constructor(list) {
    this.#list = list;
  }

  /** Updates the list. */
  show(sources, selected) {
    const ids = new Set(sources.map((source) => source.id));
    for (const [id, row] of this.#rows) if (!ids.has(id)) this.#remove(id, row);
    for (const source of sources) update(this.#row(source.id), source, source.id === selected);
    if (selected !== this.#selected) this.#list.scrollLeft = this.#row(selected).offsetLeft - this.#list.firstElementChild.offsetLeft;
    this.#selected = selected;
  }

  #row(id) {
    if (!this.#rows.has(id)) {
      const row = newRow(id);
      this.#list.append(row.parentElement);
      this.#rows.set(id, row);
    }
    return this.#rows.get(id);
  }

  #remove(id, row) {
    row.parentElement.remove();
    this.#rows.delete(id);
  }
}

function update(row, source, selected) {
  const [, , facts] = row.children;
  const { state, label } = statusOf(source);
  row.dataset.state = state;
  row.setAttribute("aria-current", String(selected));
  facts.textContent = state === "live" ? `${rate(source)} fps · ${size(source.geometry)}` : label;
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
