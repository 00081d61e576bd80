// The chosen source, live: raw beside enhanced, split down the middle, or enhanced alone.

import { sourcePath } from "./client.js";

const AGAIN_MS = 1500;

export class Pictures {
  #frame;
  #raw;
  #enhanced;
  #id = null;
  #view = "beside";
  #serial = 0;

  /** `frame` holds two <img>, `raw` and `enhanced`; the second one also shows the split picture. */
  constructor({ frame, raw, enhanced }) {
    this.#frame = frame;
    this.#raw = raw;
    this.#enhanced = enhanced;
    for (const image of [raw, enhanced]) image.addEventListener("error", () => this.#retry(image));
    document.addEventListener("visibilitychange", () => this.connect());
  }

  /** Shows source `id`, or nothing for null. */
  show(id, geometry) {
    if (geometry) this.#frame.style.setProperty("--ratio", geometry.width / geometry.height);
    const wanted = geometry ? id : null;
    if (wanted === this.#id) return;
    this.#id = wanted;
    this.connect();
  }

  /** Changes between "beside", "split" and "enhanced". */
  look(view) {
    this.#view = view;
    this.#frame.dataset.view = view;
    this.connect();
  }

  /** Opens the live pictures anew; closes them while nobody looks, for each holds a connection. */
  connect() {
    this.#open(this.#raw, this.#view === "beside" ? "raw" : null);
    this.#open(this.#enhanced, this.#view === "split" ? "split" : "enhanced");
  }

  #open(image, view) {
    image.dataset.view = view ?? "";
    if (!view || !this.#id || document.hidden) return image.removeAttribute("src");
    this.#serial += 1; // a new address, so that the browser does not share a connection that has ended
    image.src = `${sourcePath(this.#id, "live.mjpg")}?view=${view}&n=${this.#serial}`;
  }

  #retry(image) {
    const failed = image.src;
    if (failed) setTimeout(() => image.src === failed && this.#open(image, image.dataset.view), AGAIN_MS);
  }
}
