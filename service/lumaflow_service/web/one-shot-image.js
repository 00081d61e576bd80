// One-shot images: a dropped or selected file, shown before and after, with a link to share.

import { get, getBlob, getImage, upload } from "./client.js";
import { addCopyButton } from "./command.js";
import { Compare, pair } from "./compare.js";
import { Controls } from "./controls.js";
import { mebibytes, milliseconds } from "./stats.js";
import { CANNOT_SEND, duration } from "./status-text.js";
import { showTone } from "./tone.js";

const byId = (id) => document.getElementById(id);
const MEDIA_TYPES = ["image/jpeg", "image/png"];

export class OneShotImage {
  #about;
  #enabled = true;
  #compare = new Compare(byId("image-stage"));
  #controls;
  #file = null;
  #shownId = null;
  #objectUrl = "";

  /** `about` is the response of /v1/about. */
  constructor(about) {
    this.#about = about;
    const { options } = about;
    this.#controls = new Controls({ form: byId("image-controls"), note: byId("image-note"), about, compact: true, send: () => this.#enhance() });
    this.#controls.show("new", options);
    byId("file").addEventListener("change", ({ target }) => target.files[0] && this.take(target.files[0]));
    addCopyButton({ text: byId("image-link"), button: byId("image-copy"), status: byId("copied") });
    this.#addDropHandlers();
  }

  /** Enables uploads, or disables them for a token that cannot send images. */
  setEnabled(enabled) {
    const { max_bytes: bytes, max_pixels: pixels } = this.#about;
    this.#enabled = enabled;
    byId("file").disabled = !enabled;
    byId("image-limit").textContent = enabled ? `JPEG or PNG, up to ${mebibytes(bytes)} and ${Math.round(pixels / 1e6)} megapixels.` : CANNOT_SEND;
  }

  /** Enhances a file, unless its type or size is not supported. */
  async take(file) {
    const error = this.#validate(file);
    showStatus(error);
    if (error) return;
    this.#file = file;
    showStatus(`Enhancing ${file.name} …`, "busy");
    try {
      await this.#enhance();
      showStatus("");
    } catch (problem) {
      if (problem.status === undefined) throw problem;
      showStatus(problem.message);
    }
  }

  /** Shows the image with this id, from a shared link. */
  async open(id) {
    if (id === this.#shownId) return;
    try {
      const state = await get(`v1/trials/${encodeURIComponent(id)}`);
      const before = await getBlob(`v1/trials/${state.id}/before`);
      this.#file = new File([before], "image", { type: state.media });
      this.#controls.show(id, state.options);
      await this.#show(state);
      showStatus("");
    } catch (problem) {
      if (problem.status === undefined) throw problem;
      showStatus(problem.message);
    }
  }

  #validate({ name, size, type }) {
    const { max_bytes: maxBytes } = this.#about;
    if (!this.#enabled) return CANNOT_SEND;
    if (!MEDIA_TYPES.includes(type)) return `${name} is ${type || "of an unknown type"}. Choose a JPEG or PNG file.`;
    if (size > maxBytes) return `${name} has ${mebibytes(size)}; the limit is ${mebibytes(maxBytes)}. Nothing was sent. Choose a smaller file.`;
    return "";
  }

  async #enhance() {
    if (!this.#file) return;
    const options = encodeURIComponent(JSON.stringify(this.#controls.options));
    await this.#show(await upload(`v1/trials?options=${options}`, this.#file));
  }

  async #show(state) {
    const path = `v1/trials/${state.id}`;
    const [before, after] = await Promise.all([createImageBitmap(this.#file), getImage(`${path}/after`)]);
    this.#compare.setImage(pair(before, after));
    this.#shownId = state.id;
    const link = new URL(`#image=${state.id}`, document.baseURI).href;
    history.replaceState(null, "", link);
    byId("image-link").textContent = link;
    byId("image-save").download = `enhanced.${state.media.split("/")[1].replace("jpeg", "jpg")}`;
    URL.revokeObjectURL(this.#objectUrl);
    byId("image-save").href = this.#objectUrl = URL.createObjectURL(await getBlob(`${path}/after`));
    const { figures } = state;
    byId("image-facts").textContent = `${after.width} × ${after.height} · enhanced in ${milliseconds(figures.frame_seconds)} ms on ${figures.device}`;
    showTone(byId("image-tone"), figures.tone);
    byId("image-expiry").textContent = `The link expires in ${duration(state.seconds_left)}.`;
    byId("image-result").hidden = false;
  }

  #addDropHandlers() {
    const setDragOver = (event, on) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      document.body.classList.toggle("drag-over", on);
    };
    addEventListener("dragover", (event) => setDragOver(event, true));
    addEventListener("dragleave", (event) => event.relatedTarget || setDragOver(event, false));
    addEventListener("drop", (event) => {
      setDragOver(event, false);
      const [file] = event.dataTransfer?.files ?? [];
      if (!file) return;
      if (!/^#(try|image|trial)/.test(location.hash)) location.hash = "try";
      this.take(file);
    });
  }
}

function showStatus(text, state = text ? "error" : "") {
  byId("image-status").textContent = text;
  byId("image-status").dataset.state = state;
}
