// Trying an image: dropped anywhere on the page or chosen, shown before and after, with a link to hand on.

import { get, getBlob, getPicture, upload } from "./client.js";
import { Compare, pair } from "./compare.js";
import { Controls } from "./controls.js";
import { mebibytes, milliseconds } from "./figures.js";
import { copyable } from "./welcome.js";
import { SENDS_NOT, span } from "./words.js";

const byId = (id) => document.getElementById(id);
const KINDS = ["image/jpeg", "image/png"];

export class Trial {
  #about;
  #may = true;
  #compare = new Compare(byId("trial-stage"));
  #controls;
  #file = null;
  #shown = null; // id of the result that is shown
  #url = "";

  /** `about` is what the service says of itself. */
  constructor(about) {
    this.#about = about;
    const { options } = about;
    this.#controls = new Controls({ form: byId("trial-controls"), note: byId("trial-note"), about, few: true, send: () => this.#enhance() });
    this.#controls.show("trial", options);
    byId("file").addEventListener("change", ({ target }) => target.files[0] && this.take(target.files[0]));
    copyable({ text: byId("trial-link"), button: byId("trial-copy"), said: byId("copied") });
    this.#catchDrops();
  }

  /** Whether the reader may send images. */
  allow(may) {
    const { max_bytes: bytes, max_pixels: pixels } = this.#about;
    this.#may = may;
    byId("file").disabled = !may;
    byId("trial-limit").textContent = may ? `JPEG or PNG, up to ${mebibytes(bytes)} and ${Math.round(pixels / 1e6)} megapixels.` : SENDS_NOT;
  }

  /** Enhances a file, unless it can be told that the service would refuse it. */
  async take(file) {
    const refusal = this.#refusal(file);
    say(refusal);
    if (refusal) return;
    this.#file = file;
    say(`Enhancing ${file.name} …`, "busy");
    try {
      await this.#enhance();
      say("");
    } catch (problem) {
      if (problem.status === undefined) throw problem;
      say(problem.message);
    }
  }

  /** Shows the result of this id, as a link of somebody's names it. */
  async open(id) {
    if (id === this.#shown) return;
    try {
      const state = await get(`v1/trials/${encodeURIComponent(id)}`);
      const before = await getBlob(`v1/trials/${state.id}/before`);
      this.#file = new File([before], "image", { type: state.media });
      this.#controls.show(id, state.options);
      await this.#show(state);
      say("");
    } catch (problem) {
      if (problem.status === undefined) throw problem;
      say(problem.message);
    }
  }

  #refusal({ name, size, type }) {
    const { max_bytes: most } = this.#about;
    if (!this.#may) return SENDS_NOT;
    if (!KINDS.includes(type)) return `${name} is ${type || "of an unknown type"}. Choose a JPEG or a PNG.`;
    if (size > most) return `${name} has ${mebibytes(size)}. At most ${mebibytes(most)} are taken: choose a smaller one. Nothing was sent.`;
    return "";
  }

  async #enhance() {
    if (!this.#file) return;
    const options = encodeURIComponent(JSON.stringify(this.#controls.options));
    await this.#show(await upload(`v1/trials?options=${options}`, this.#file));
  }

  async #show(state) {
    const path = `v1/trials/${state.id}`;
    const [before, after] = await Promise.all([createImageBitmap(this.#file), getPicture(`${path}/after`)]);
    this.#compare.show(pair(before, after));
    this.#shown = state.id;
    const link = new URL(`#trial=${state.id}`, document.baseURI).href;
    history.replaceState(null, "", link);
    byId("trial-link").textContent = link;
    byId("trial-save").download = `enhanced.${state.media.split("/")[1].replace("jpeg", "jpg")}`;
    URL.revokeObjectURL(this.#url);
    byId("trial-save").href = this.#url = URL.createObjectURL(await getBlob(`${path}/after`));
    const { figures } = state;
    byId("trial-facts").textContent = `${after.width} × ${after.height} · enhanced in ${milliseconds(figures.frame_seconds)} ms on ${figures.device}`;
    byId("trial-kept").textContent = `The link holds for ${span(state.seconds_left)}.`;
    byId("trial-result").hidden = false;
  }

  #catchDrops() {
    const over = (event, on) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      document.body.classList.toggle("dropping", on);
    };
    addEventListener("dragover", (event) => over(event, true));
    addEventListener("dragleave", (event) => event.relatedTarget || over(event, false));
    addEventListener("drop", (event) => {
      over(event, false);
      const [file] = event.dataTransfer?.files ?? [];
      if (!file) return;
      if (!location.hash.startsWith("#tr")) location.hash = "try";
      this.take(file);
    });
  }
}

function say(words, state = words ? "wrong" : "") {
  byId("trial-says").textContent = words;
  byId("trial-says").dataset.state = state;
}
