// What can be laid over the enhanced picture: the heat map, edges (HOG), texture (LBP).

import { getPicture, send, sourcePath } from "./client.js";
import { Pulse } from "./pulse.js";

const EVERY_MS = 250;
const HOW = { heatmap: ["screen", 0.85], hog: ["source-over", 1], lbp: ["source-over", 0.5] };
const UNDERWAY = 4; // frames that may have been on their way when a feature was turned on: made without it
const WORDS = {
  heatmap: "Contrast of each tile: dark is flat, bright has contrast.",
  hog: "Edges: strokes along them, stronger where the edge is.",
  lbp: "Texture of each cell: dark is plain, bright is rich.",
};

export class Overlay {
  #compare;
  #legend;
  #source = null;
  #feature = "";
  #lent = new Set(); // features turned on here, turned off again afterwards
  #from = -1; // the first frame that surely has the feature
  #pulse = new Pulse(EVERY_MS, () => this.#ask());

  /** Lays over `compare`; what it means, or why there is none, goes into `legend`. */
  constructor({ compare, legend }) {
    this.#compare = compare;
    this.#legend = legend;
  }

  /** Follows `source`, or nothing for null. */
  follow(source) {
    const changed = source?.id !== this.#source?.id;
    if (changed) this.#lent.clear();
    this.#source = source;
    if (changed) this.look(this.#feature);
  }

  /** Shows "heatmap", "hog" or "lbp"; "" shows none. */
  async look(feature) {
    this.#feature = feature;
    this.#legend.textContent = WORDS[feature] ?? "";
    this.#compare.cover(null);
    await this.#provide(feature);
    if (feature) this.#pulse.start();
  }

  async #provide(wanted) {
    if (!this.#source) return;
    const { id, options } = this.#source;
    const kept = options.features.filter((name) => name === wanted || !this.#lent.has(name));
    this.#from = 0;
    const missing = wanted && !kept.includes(wanted);
    if (missing) this.#lent.add(wanted);
    if (missing) this.#from = Infinity;
    for (const name of this.#lent) if (name !== wanted) this.#lent.delete(name);
    if (!missing && kept.length === options.features.length) return;
    try {
      const features = missing ? [...kept, wanted] : kept;
      const { sequence } = await send("PATCH", sourcePath(id), { options: { features } });
      this.#from = sequence === null ? 0 : sequence + UNDERWAY;
    } catch (problem) {
      this.#legend.textContent = problem.message;
    }
  }

  /** Whether the last frame surely has it. */
  #made(feature) {
    const { sequence, options } = this.#source;
    return sequence !== null && sequence >= this.#from && options.features.includes(feature);
  }

  async #ask() {
    const [feature, id] = [this.#feature, this.#source?.id];
    if (!feature) return this.#pulse.stop();
    if (!id || !this.#made(feature)) return;
    try {
      const bitmap = await getPicture(sourcePath(id, `${feature}.png`));
      if (feature !== this.#feature || id !== this.#source?.id) return bitmap.close();
      this.#compare.cover(bitmap, ...HOW[feature]);
    } catch (problem) {
      if (problem.status === undefined) throw problem;
      this.#compare.cover(null); // no frame since it was turned on, or the worker starts: soon again
    }
  }
}
