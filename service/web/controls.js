// The options a person may turn: mode, clip limit, tiles. A change goes out at once, one at a time.

import { patch, sourcePath } from "./client.js";

const WORDS = {
  clahe: "Contrast by regions, limited: the best start for most cameras.",
  clipped: "One curve for the whole frame, its contrast limited.",
  equalize: "One curve for the whole frame, at full strength.",
  stretch: "Levels spread in a straight line between the darkest and the brightest.",
  identity: "The frame passes unchanged.",
};
const SETTLE_MS = 150; // a slider in motion sends its last position, not each one

export class Controls {
  #form;
  #note;
  #id = null;
  #timer = 0;
  #sending = false;
  #touched = new Set();

  /** Works on `form`; what came of a change is written into `note`. */
  constructor({ form, note }) {
    this.#form = form;
    this.#note = note;
    form.addEventListener("input", (event) => this.#changed(event.target));
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  /** Shows the options of `source`, unless a change of the reader's is on its way. */
  show(source) {
    if (source.id !== this.#id) this.#forget();
    this.#id = source.id;
    if (this.#timer || this.#sending) return;
    const { mode, clip_limit: clipLimit, tiles } = source.options;
    const { elements } = this.#form;
    elements.mode.value = mode;
    elements.clip_limit.value = String(clipLimit);
    elements.tiles.value = tiles;
    if (elements.tiles.value !== tiles) elements.tiles.add(new Option(tiles.replace("x", " × "), tiles, true, true));
    this.#dress(clipLimit);
  }

  #forget() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#touched.clear();
    this.#note.textContent = "";
  }

  #changed(element) {
    this.#touched.add(element.name);
    this.#dress(Number(this.#form.elements.clip_limit.value));
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#send(), SETTLE_MS);
  }

  #dress(clipLimit) {
    const { elements } = this.#form;
    const mode = elements.mode.value;
    elements.clip_limit.disabled = mode !== "clahe" && mode !== "clipped";
    elements.tiles.disabled = mode !== "clahe";
    this.#form.querySelector("output").textContent = clipLimit.toFixed(1);
    this.#form.querySelector("#mode-words").textContent = WORDS[mode] ?? "";
  }

  async #send() {
    const { mode, clip_limit: clipLimit, tiles } = this.#form.elements;
    const all = { mode: mode.value, clip_limit: Number(clipLimit.value), tiles: tiles.value };
    const options = Object.fromEntries([...this.#touched].map((name) => [name, all[name]]));
    this.#touched.clear();
    this.#timer = 0;
    this.#sending = true;
    try {
      await patch(sourcePath(this.#id), { options });
      this.#note.textContent = "";
    } catch (problem) {
      this.#note.textContent = `Not changed: ${problem.message}`;
    } finally {
      this.#sending = false;
    }
  }
}
