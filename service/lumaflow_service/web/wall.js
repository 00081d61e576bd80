// The video wall: a thumbnail of every source, with its status, frame rate and age.

import { getImage, sourcePath } from "./client.js";
import { Poll } from "./poll.js";
import { rate, size } from "./stats.js";
import { causeText, duration, statusOf } from "./status-text.js";

const POLL_MS = 250;
const THUMBNAIL_MS = 1500; // minimum time between two thumbnails of a source

export class Wall {
  #list;
  #tiles = new Map();
  #visibility = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) target.dataset.visible = isIntersecting ? "yes" : "";
  });
  #poll = new Poll(POLL_MS, () => this.#fetchThumbnails());

  /** Renders into the element `list`. */
  constructor(list) {
    this.#list = list;
  }

  /** Updates the tiles; null stops while the wall is hidden. */
  show(sources) {
    if (!sources) return this.#poll.stop();
    const ids = new Set(sources.map((source) => source.id));
    for (const [id, tile] of this.#tiles) if (!ids.has(id)) this.#remove(id, tile);
    for (const source of sources) this.#update(this.#tile(source.id), source);
    this.#poll.start();
  }

  #tile(id) {
    if (!this.#tiles.has(id)) {
      const tile = newTile(id);
      this.#tiles.set(id, { ...tile, source: null, shownSequence: -1, requestedAt: 0 });
      this.#list.append(tile.item);
      this.#visibility.observe(tile.item);
    }
    return this.#tiles.get(id);
  }

  #remove(id, tile) {
    this.#visibility.unobserve(tile.item);
    tile.item.remove();
    this.#tiles.delete(id);
  }

  #update(tile, source) {
    const { state, label } = statusOf(source);
    const age = source.age_seconds === null ? [] : [`${duration(source.age_seconds)} old`];
    const speed = state === "live" ? [`${rate(source)} fps`, ...age] : [];
    tile.source = source;
    tile.item.dataset.state = state;
    tile.status.textContent = label;
    const details = state === "down" ? [causeText(source)] : speed;
    tile.facts.textContent = [size(source.geometry), ...details].filter(Boolean).join(" · ");
  }

  /** Requests due thumbnails of visible tiles. */
  async #fetchThumbnails() {
    const now = performance.now();
    const due = [...this.#tiles.values()].filter(
      ({ item, source, shownSequence, requestedAt }) => item.dataset.visible && source.picture && source.sequence !== shownSequence && now - requestedAt > THUMBNAIL_MS,
    );
    await Promise.all(due.map((tile) => this.#fetchThumbnail(tile, now)));
  }

  async #fetchThumbnail(tile, now) {
    [tile.requestedAt, tile.shownSequence] = [now, tile.source.sequence]; // if it fails, the lane is closed: do not repeat it
    try {
      const bitmap = await getImage(`${sourcePath(tile.source.id, "snapshot.jpg")}?view=thumbnail`);
      [tile.canvas.width, tile.canvas.height] = [bitmap.width, bitmap.height];
      tile.canvas.getContext("2d").drawImage(bitmap, 0, 0);
      bitmap.close();
    } catch (problem) {
      if (problem.status === undefined) throw problem; // without a thumbnail the tile keeps the last one
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
  const [name, status, facts] = ["name", "status", "facts"].map((part) => {
    const element = document.createElement("span");
    element.className = part;
    return element;
  });
  name.textContent = id;
  link.append(canvas, name, status, facts);
  item.append(link);
  return { item, canvas, status, facts };
}
