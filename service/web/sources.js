// The list of sources: who is there, how fast, how large; one of them is chosen.

import { rate, size } from "./figures.js";

export class Sources extends EventTarget {
  #list;
  #rows = new Map();
  chosen = new URLSearchParams(location.hash.slice(1)).get("source");

  /** Shows itself in the element `list`; fires "choose" when another source is chosen. */
  constructor(list) {
    super();
    this.#list = list;
  }

  /** Brings the list up to date and returns the chosen source, or undefined when there is none. */
  show(sources) {
    const ids = new Set(sources.map((source) => source.id));
    for (const [id, row] of this.#rows) if (!ids.has(id)) this.#forget(id, row);
    if (!ids.has(this.chosen)) this.chosen = firstLive(sources)?.id ?? null;
    for (const source of sources) this.#fill(this.#row(source.id), source);
    return sources.find((source) => source.id === this.chosen);
  }

  #row(id) {
    if (!this.#rows.has(id)) {
      const row = newRow(id);
      row.addEventListener("click", () => this.#choose(id));
      this.#list.append(row.parentElement);
      this.#rows.set(id, row);
    }
    return this.#rows.get(id);
  }

  #forget(id, row) {
    row.parentElement.remove();
    this.#rows.delete(id);
  }

  #fill(row, source) {
    const [, , facts] = row.children;
    row.dataset.state = source.state;
    row.setAttribute("aria-current", String(source.id === this.chosen));
    const pace = source.state === "live" ? `${rate(source)} fps` : "idle";
    facts.textContent = `${pace} · ${size(source.geometry)}`;
  }

  #choose(id) {
    this.chosen = id;
    history.replaceState(null, "", `#source=${id}`);
    for (const [other, row] of this.#rows) row.setAttribute("aria-current", String(other === id));
    this.dispatchEvent(new Event("choose"));
  }
}

function firstLive(sources) {
  return sources.find((source) => source.state === "live") ?? sources[0];
}

function newRow(id) {
  const row = document.createElement("button");
  row.type = "button";
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
