// Buttons and dialogs that add, pause, restart and remove cameras.

import { send, sourcePath } from "./client.js";
import { READ_ONLY } from "./status-text.js";

const ADMIN_BUTTONS = ["add", "pause", "restart", "remove"];
const byId = (id) => document.getElementById(id);

export class Cameras {
  #source = null;
  #onChange;

  /** Calls `onChange` after each change. */
  constructor({ onChange }) {
    this.#onChange = onChange;
    byId("pause").addEventListener("click", () => this.#post(this.#source.camera.state === "paused" ? "resume" : "pause"));
    byId("restart").addEventListener("click", () => this.#post("restart"));
    byId("remove").addEventListener("click", () => byId("remove-dialog").showModal());
    byId("remove-form").addEventListener("submit", (event) => event.submitter.value === "yes" && this.#remove());
    byId("add").addEventListener("click", () => this.#openAddDialog());
    byId("add-form").addEventListener("submit", (event) => this.#add(event));
    byId("add-cancel").addEventListener("click", () => byId("add-dialog").close());
  }

  /** Shows the buttons that apply to `source`. */
  show(source) {
    this.#source = source;
    const { camera } = source;
    byId("pause").hidden = byId("restart").hidden = !camera;
    byId("pause").textContent = camera?.state === "paused" ? "Resume" : "Pause";
    byId("camera-url").textContent = camera?.url ?? "";
    byId("remove-name").textContent = source.id;
  }

  /** Enables the buttons, or disables them for a token that is read-only. */
  setEnabled(enabled) {
    for (const id of ADMIN_BUTTONS) Object.assign(byId(id), { disabled: !enabled, title: enabled ? "" : READ_ONLY });
  }

  #openAddDialog() {
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

  async #post(action) {
    await this.#run(() => send("POST", sourcePath(this.#source.id, action)));
  }

  async #remove() {
    await this.#run(() => send("DELETE", sourcePath(this.#source.id)));
  }

  async #run(change) {
    try {
      await change();
      byId("camera-note").textContent = "";
    } catch (problem) {
      byId("camera-note").textContent = problem.message;
    }
    this.#onChange();
  }
}
