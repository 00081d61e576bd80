// Adding a camera, pausing it, starting it anew, and removing a source.

import { send, sourcePath } from "./client.js";
import { LOOKS_ONLY } from "./words.js";

const CHANGES = ["add", "pause", "restart", "remove"];
const byId = (id) => document.getElementById(id);

export class Cameras {
  #source = null;
  #onChange;

  /** `onChange` is called after each change. */
  constructor({ onChange }) {
    this.#onChange = onChange;
    byId("pause").addEventListener("click", () => this.#ask(this.#source.camera.state === "paused" ? "resume" : "pause"));
    byId("restart").addEventListener("click", () => this.#ask("restart"));
    byId("remove").addEventListener("click", () => byId("remove-dialog").showModal());
    byId("remove-form").addEventListener("submit", (event) => event.submitter.value === "yes" && this.#remove());
    byId("add").addEventListener("click", () => this.#open());
    byId("add-form").addEventListener("submit", (event) => this.#add(event));
    byId("add-cancel").addEventListener("click", () => byId("add-dialog").close());
  }

  /** Offers what can be done with `source`. */
  show(source) {
    this.#source = source;
    const { camera } = source;
    byId("pause").hidden = byId("restart").hidden = !camera;
    byId("pause").textContent = camera?.state === "paused" ? "Resume" : "Pause";
    byId("camera-url").textContent = camera?.url ?? "";
    byId("remove-name").textContent = source.id;
  }

  /** Whether the reader may change anything. */
  allow(may) {
    for (const id of CHANGES) Object.assign(byId(id), { disabled: !may, title: may ? "" : LOOKS_ONLY });
  }

  #open() {
    byId("add-form").reset();
    byId("add-note").textContent = "";
    byId("add-dialog").showModal();
  }

  async #add(event) {
    event.preventDefault();
    const { id, url, transport } = byId("add-form").elements;
    byId("add-note").textContent = "";
    try {
      await send("PUT", sourcePath(id.value), { url: url.value, transport: transport.value });
      byId("add-dialog").close();
      location.hash = `source=${id.value}`;
      this.#onChange();
    } catch (problem) {
      byId("add-note").textContent = problem.message;
    }
  }

  async #ask(what) {
    await this.#try(() => send("POST", sourcePath(this.#source.id, what)));
  }

  async #remove() {
    await this.#try(() => send("DELETE", sourcePath(this.#source.id)));
  }

  async #try(change) {
    try {
      await change();
      byId("camera-note").textContent = "";
    } catch (problem) {
      byId("camera-note").textContent = problem.message;
    }
    this.#onChange();
  }
}
