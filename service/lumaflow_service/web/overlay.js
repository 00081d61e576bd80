// Overlays on the enhanced image: the heat map, edges (HOG), texture (LBP).

import { getImage, send, sourcePath } from "./client.js";
import { setText } from "./health.js";
import { Poll } from "./poll.js";
import { READ_ONLY } from "./status-text.js";

const INTERVAL_MS = 250;
const BLENDING = { heatmap: ["screen", 0.85], hog: ["source-over", 1], lbp: ["source-over", 0.5] };
const NAMES = { heatmap: "heat map", hog: "HOG", lbp: "LBP" };
const LEGENDS = {
  heatmap: "Contrast of each tile, from low (dark) to high (bright).",
  hog: "Edges: strokes along them, brighter for stronger edges.",
  lbp: "Texture of each cell, from uniform (dark) to varied (bright).",
};

export class Overlay {
  #compare;
  #legend;
  #source = null;
  #feature = "";
  #enabledHere = new Set(); // features that this page enabled, and disables afterwards
  #error = "";
  #missing = null; // sequence number of a frame without the feature
  #enabled = true;
  #poll = new Poll(INTERVAL_MS, () => this.#fetch());

  /** Draws on `compare`; the explanation, or the reason for no overlay, goes into `legend`. */
  constructor({ compare, legend }) {
    this.#compare = compare;
    this.#legend = legend;
  }

  /** Uses `source`, or none for null. */
  setSource(source) {
    const changed = source?.id !== this.#source?.id;
    if (changed) this.#enabledHere.clear();
    this.#source = source;
    if (changed) this.setFeature(this.#feature);
    else this.#updateLegend();
  }

  /** Sets whether the token allows enabling features. */
  setEnabled(enabled) {
    this.#enabled = enabled;
  }

  /** Shows "heatmap", "hog" or "lbp"; "" shows none. */
  async setFeature(feature) {
    [this.#feature, this.#error, this.#missing] = [feature, "", null];
    this.#compare.setOverlay(null);
    this.#updateLegend();
    await this.#enableFeature(feature);
    this.#updateLegend();
    if (feature) this.#poll.start();
  }

  async #enableFeature(wanted) {
    if (!this.#source) return;
    const { id, options } = this.#source;
    const kept = options.features.filter((name) => name === wanted || !this.#enabledHere.has(name));
    const missing = wanted && !kept.includes(wanted);
    if (missing && !this.#enabled) return (this.#error = `This source has no ${NAMES[wanted]}. ${READ_ONLY}`);
    if (missing) this.#enabledHere.add(wanted);
    for (const name of this.#enabledHere) if (name !== wanted) this.#enabledHere.delete(name);
    if (!missing && kept.length === options.features.length) return;
    try {
      const features = missing ? [...kept, wanted] : kept;
      const source = await send("PATCH", sourcePath(id), { options: { features } });
      if (id === this.#source?.id) this.#source = source;
    } catch (problem) {
      this.#error = problem.message;
    }
  }

  /** True if the last frame has the feature. */
  #isAvailable(feature) {
    const { picture, extracted, options, sequence } = this.#source;
    return picture && extracted.includes(feature) && options.features.includes(feature) && sequence !== this.#missing;
  }

  #updateLegend() {
    const feature = this.#source ? this.#feature : "";
    const none = feature && !this.#isAvailable(feature) && `This frame has no ${NAMES[feature]}. It starts with the next frame.`;
    setText(this.#legend, this.#error || none || (LEGENDS[feature] ?? ""));
  }

  async #fetch() {
    const [feature, id] = [this.#feature, this.#source?.id];
    if (!feature) return this.#poll.stop();
    if (!id || !this.#isAvailable(feature)) return this.#compare.setOverlay(null);
    const { sequence } = this.#source;
    try {
      const bitmap = await getImage(sourcePath(id, `${feature}.png`));
      if (feature !== this.#feature || id !== this.#source?.id) return bitmap.close();
      this.#compare.setOverlay(bitmap, ...BLENDING[feature]);
    } catch (problem) {
      if (problem.status === undefined) throw problem;
      if (problem.status === 404) this.#missing = sequence;
      this.#compare.setOverlay(null); // the worker is restarting, or its lane is closed
    }
  }
}
