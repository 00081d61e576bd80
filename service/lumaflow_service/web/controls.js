// The form of options. Each change is sent at once, one request at a time; fields with unsent changes are not overwritten.

import { fields } from "./options.js";
import { READ_ONLY } from "./status-text.js";

const MAIN_OPTIONS = ["preset"];
const IMAGE_OPTIONS = ["mode", "strength", "target", "denoise", "clip_limit", "tiles", "color"];

export class Controls {
  #fields;
  #form;
  #note;
  #send;
  #defaults;
  #presets;
  #subject = null;
  #sending = false;
  #unsent = new Set();
  #enabled = true;

  /**
   * Creates the fields of `about.options_schema` in `form`: the preset, and the others in `.more`. With `compact` only
   * those of one image.
   * Calls `send(changes)` for each change; its error is written into `note`.
   */
  constructor({ form, note, about, compact = false, send }) {
    [this.#form, this.#note, this.#send, this.#defaults, this.#presets] = [form, note, send, about.options, about.presets];
    const names = Object.keys(about.options_schema.properties);
    const others = compact ? IMAGE_OPTIONS : [...IMAGE_OPTIONS, ...names.filter((name) => ![...MAIN_OPTIONS, ...IMAGE_OPTIONS].includes(name))];
    const shown = [...MAIN_OPTIONS, ...others];
    this.#fields = fields(about.options_schema, shown);
    const [main, more] = [[], []];
    for (const [name, { element }] of this.#fields) (MAIN_OPTIONS.includes(name) ? main : more).push(element);
    form.prepend(...main);
    form.querySelector(".more").append(...more);
    for (const [name, { element }] of this.#fields) element.addEventListener("input", () => this.#onInput(name));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", (event) => this.#onReset(event));
  }

  /** The options in the form. */
  get options() {
    return Object.fromEntries([...this.#fields].map(([name, { read }]) => [name, read()]));
  }

  /** Shows the options of `subject` (a source or image), unless a change is unsent. */
  show(subject, options, geometry) {
    if (subject !== this.#subject) this.#setNote("");
    this.#subject = subject;
    if (this.#sending || this.#unsent.size) return;
    for (const [name, { write }] of this.#fields) if (!equal(this.#fields.get(name).read(), options[name])) write(options[name], geometry);
    this.#fields.get("region")?.write(options.region, geometry);
    this.#updateDisabled();
  }

  /** Enables the form, or disables it for a token that is read-only. */
  setEnabled(enabled) {
    this.#enabled = enabled;
    this.#setNote("");
    this.#updateDisabled();
  }

  #updateDisabled() {
    const options = this.options;
    for (const { element, when } of this.#fields.values()) {
      for (const input of element.querySelectorAll("input, select")) input.disabled = !this.#enabled || !when(options);
    }
    this.#form.querySelector("[type=reset]").disabled = !this.#enabled;
  }

  /** Writes an error, or why the form is disabled. */
  #setNote(error) {
    this.#note.className = this.#enabled ? "error" : "muted";
    this.#note.textContent = this.#enabled ? error : READ_ONLY;
  }

  #onReset(event) {
    event.preventDefault();
    for (const [name, { write }] of this.#fields) {
      write(this.#defaults[name]);
      this.#unsent.add(name);
    }
    this.#updateDisabled();
    this.#sendChanges();
  }

  #onInput(name) {
    this.#unsent.add(name);
    if (name === "preset") this.#showPreset();
    if (name === "mode") this.#clearPreset();
    this.#updateDisabled();
    this.#sendChanges();
  }

  /** Shows the options of the preset; the service sets them. */
  #showPreset() {
    for (const [name, value] of Object.entries(this.#presets[this.#fields.get("preset").read()])) {
      this.#fields.get(name)?.write(value);
      this.#unsent.delete(name);
    }
  }

  /** Another mode than that of the preset. */
  #clearPreset() {
    this.#fields.get("preset").write(null);
    this.#unsent.delete("preset");
  }

  async #sendChanges() {
    if (this.#sending) return;
    this.#sending = true;
    while (this.#unsent.size) {
      const changes = Object.fromEntries([...this.#unsent].map((name) => [name, this.#fields.get(name).read()]));
      this.#unsent.clear();
      try {
        await this.#send(changes);
        this.#setNote("");
      } catch (problem) {
        if (problem.status === undefined) throw problem;
        this.#setNote(`Not changed: ${problem.message}`);
      }
    }
    this.#sending = false;
  }
}

function equal(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}
