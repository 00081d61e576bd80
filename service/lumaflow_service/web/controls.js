// The options a person may turn. A change goes out at once, one at a time; what is on its way is not overwritten.

import { fields } from "./options.js";
import { LOOKS_ONLY } from "./words.js";

const FRONT = ["mode", "clip_limit", "tiles", "color"];

export class Controls {
  #fields;
  #form;
  #note;
  #send;
  #defaults;
  #subject = null;
  #sending = false;
  #touched = new Set();
  #may = true;

  /**
   * Builds the options of `about` into `form`: the first ones, and unless `few` the others to unfold.
   * `send(changes)` is called with each change; why it failed is written into `note`.
   */
  constructor({ form, note, about, few = false, send }) {
    [this.#form, this.#note, this.#send, this.#defaults] = [form, note, send, about.options];
    const names = Object.keys(about.options_schema.properties);
    const shown = few ? FRONT : [...FRONT, ...names.filter((name) => !FRONT.includes(name))];
    this.#fields = fields(about.options_schema, shown);
    const [front, rest] = [[], []];
    for (const [name, { element }] of this.#fields) (FRONT.includes(name) ? front : rest).push(element);
    form.prepend(...front);
    form.querySelector(".more")?.append(...rest);
    for (const [name, { element }] of this.#fields) element.addEventListener("input", () => this.#changed(name));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", (event) => this.#reset(event));
  }

  /** What the form says. */
  get options() {
    return Object.fromEntries([...this.#fields].map(([name, { read }]) => [name, read()]));
  }

  /** Shows the options of `subject`, unless a change of the reader's is on its way. */
  show(subject, options, geometry) {
    if (subject !== this.#subject) this.#say("");
    this.#subject = subject;
    if (this.#sending || this.#touched.size) return;
    for (const [name, { write }] of this.#fields) if (!same(this.#fields.get(name).read(), options[name])) write(options[name], geometry);
    this.#fields.get("region")?.write(options.region, geometry);
    this.#dress();
  }

  /** Whether the reader may turn them. */
  allow(may) {
    this.#may = may;
    this.#say("");
    this.#dress();
  }

  #dress() {
    const options = this.options;
    for (const { element, when } of this.#fields.values()) {
      for (const input of element.querySelectorAll("input, select")) input.disabled = !this.#may || !when(options);
    }
    this.#form.querySelector("[type=reset]").disabled = !this.#may;
  }

  /** Writes what went wrong, or else why nothing can be turned. */
  #say(words) {
    this.#note.className = this.#may ? "wrong" : "muted";
    this.#note.textContent = this.#may ? words : LOOKS_ONLY;
  }

  #reset(event) {
    event.preventDefault();
    for (const [name, { write }] of this.#fields) {
      write(this.#defaults[name]);
      this.#touched.add(name);
    }
    this.#dress();
    this.#pump();
  }

  #changed(name) {
    this.#touched.add(name);
    this.#dress();
    this.#pump();
  }

  async #pump() {
    if (this.#sending) return;
    this.#sending = true;
    while (this.#touched.size) {
      const changes = Object.fromEntries([...this.#touched].map((name) => [name, this.#fields.get(name).read()]));
      this.#touched.clear();
      try {
        await this.#send(changes);
        this.#say("");
      } catch (problem) {
        if (problem.status === undefined) throw problem;
        this.#say(`Not changed: ${problem.message}`);
      }
    }
    this.#sending = false;
  }
}

function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}
