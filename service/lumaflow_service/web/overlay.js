// What can be laid over the enhanced picture: the heat map, edges (HOG), texture (LBP).

import { getPicture, send, sourcePath } from "./client.js";
import { say } from "./health.js";
import { Pulse } from "./pulse.js";
import { LOOKS_ONLY } from "./words.js";

const EVERY_MS = 250;
const HOW = { heatmap: ["screen", 0.85], hog: ["source-over", 1], lbp: ["source-over", 0.5] };
const NAMES = { heatmap: "heat map", hog: "HOG", lbp: "LBP" };
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
  #trouble = ""; // why it cannot be had
  #missed = null; // the frame of which there is none after all
  #may = true;
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
    else this.#tell();
  }

  /** Whether the reader may turn features on. */
  allow(may) {
    this.#may = may;
  }

  /** Shows "heatmap", "hog" or "lbp"; "" shows none. */
  async look(feature) {
    [this.#feature, this.#trouble, this.#missed] = [feature, "", null];
    this.#compare.cover(null);
    this.#tell();
    await this.#provide(feature);
    this.#tell();
    if (feature) this.#pulse.start();
  }

  async #provide(wanted) {
    if (!this.#source) return;
    const { id, options } = this.#source;
    const kept = options.features.filter((name) => name === wanted || !this.#lent.has(name));
    const missing = wanted && !kept.includes(wanted);
    if (missing && !this.#may) return (this.#trouble = `This source makes no ${NAMES[wanted]}. ${LOOKS_ONLY}`);
    if (missing) this.#lent.add(wanted);
    for (const name of this.#lent) if (name !== wanted) this.#lent.delete(name);
    if (!missing && kept.length === options.features.length) return;
    try {
      const features = missing ? [...kept, wanted] : kept;
      const now = await send("PATCH", sourcePath(id), { options: { features } });
      if (id === this.#source?.id) this.#source = now;
    } catch (problem) {
      this.#trouble = problem.message;
    }
  }

  /** Whether the last frame has it. */
  #made(feature) {
    const { picture, extracted, options, sequence } = this.#source;
    return picture && extracted.includes(feature) && options.features.includes(feature) && sequence !== this.#missed;
  }

  #tell() {
    const feature = this.#source ? this.#feature : "";
    const none = feature && !this.#made(feature) && `No ${NAMES[feature]} of this frame: it begins with the next one.`;
    say(this.#legend, this.#trouble || none || (WORDS[feature] ?? ""));
  }

  async #ask() {
    const [feature, id] = [this.#feature, this.#source?.id];
    if (!feature) return this.#pulse.stop();
    if (!id || !this.#made(feature)) return this.#compare.cover(null);
    const { sequence } = this.#source;
    try {
      const bitmap = await getPicture(sourcePath(id, `${feature}.png`));
      if (feature !== this.#feature || id !== this.#source?.id) return bitmap.close();
      this.#compare.cover(bitmap, ...HOW[feature]);
    } catch (problem) {
      if (problem.status === undefined) throw problem;
      if (problem.status === 404) this.#missed = sequence;
      this.#compare.cover(null); // the worker starts, or its lane was closed: again with the next frame
    }
  }
}
