// The wall: a small picture of every source, with how it stands, how fast and how old it is.

import { getPicture, sourcePath } from "./client.js";
import { rate, size } from "./figures.js";
import { Pulse } from "./pulse.js";
import { reason, span, standing } from "./words.js";

const LOOK_MS = 250;
const PICTURE_MS = 1500; // a wall is for glancing: one small picture of a source so often

export class Wall {
  #list;
  #tiles = new Map();
  #seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) target.dataset.seen = isIntersecting ? "yes" : "";
  });
  #pulse = new Pulse(LOOK_MS, () => this.#look());

  /** Shows itself in the element `list`. */
  constructor(list) {
    this.#list = list;
  }

  /** Brings the tiles up to date; null: nobody looks at the wall. */
  show(sources) {
    if (!sources) return this.#pulse.stop();
    const ids = new Set(sources.map((source) => source.id));
    for (const [id, tile] of this.#tiles) if (!ids.has(id)) this.#forget(id, tile);
    for (const source of sources) this.#fill(this.#tile(source.id), source);
    this.#pulse.start();
  }

  #tile(id) {
    if (!this.#tiles.has(id)) {
      const tile = newTile(id);
      this.#tiles.set(id, { ...tile, source: null, shown: -1, asked: 0 });
      this.#list.append(tile.item);
      this.#seen.observe(tile.item);
    }
    return this.#tiles.get(id);
  }

  #forget(id, tile) {
    this.#seen.unobserve(tile.item);
    tile.item.remove();
    this.#tiles.delete(id);
  }

  #fill(tile, source) {
    const { state, words } = standing(source);
    const age = source.age_seconds === null ? [] : [`${span(source.age_seconds)} old`];
    const pace = state === "live" ? [`${rate(source)} fps`, ...age] : [];
    tile.source = source;
    tile.item.dataset.state = state;
    tile.words.textContent = words;
    const why = state === "down" ? [reason(source)] : pace;
    tile.facts.textContent = [size(source.geometry), ...why].filter(Boolean).join(" · ");
  }

  /** Asks for the pictures that are due, of the sources that can be seen. */
  async #look() {
    const now = performance.now();
    const due = [...this.#tiles.values()].filter(
      ({ item, source, shown, asked }) => item.dataset.seen && source.picture && source.sequence !== shown && now - asked > PICTURE_MS,
    );
    await Promise.all(due.map((tile) => this.#picture(tile, now)));
  }

  async #picture(tile, now) {
    [tile.asked, tile.shown] = [now, tile.source.sequence]; // not again when there is none: its lane was closed
    try {
      const bitmap = await getPicture(`${sourcePath(tile.source.id, "snapshot.jpg")}?view=thumbnail`);
      [tile.canvas.width, tile.canvas.height] = [bitmap.width, bitmap.height];
      tile.canvas.getContext("2d").drawImage(bitmap, 0, 0);
      bitmap.close();
    } catch (problem) {
      if (problem.status === undefined) throw problem; // else: no picture this time
    }
  }
}

function newTile(id) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = `#source=${id}`;
  link.className = "tile";
  const canvas = document.createElement("canvas");
  canvas.ariaHidden = "true";
  const [name, words, facts] = ["name", "words", "facts"].map((part) => {
    const element = document.createElement("span");
    element.className = part;
    return element;
  });
  name.textContent = id;
  link.append(canvas, name, words, facts);
  item.append(link);
  return { item, canvas, words, facts };
}
