// Where the time of a frame goes: one bar, one part a stage, with milliseconds.

import { milliseconds } from "./figures.js";
import { Steady } from "./steady.js";

export class Stages {
  #bar;
  #list;
  #sum;
  #steady = new Steady();
  #laid = "";

  /** Draws into `bar` and `list` (a <dl>); the total goes into `sum`. */
  constructor({ bar, list, sum }) {
    this.#bar = bar;
    this.#list = list;
    this.#sum = sum;
  }

  /** Shows `stage_seconds` of `source`, in the order in which a frame passes the stages. */
  show(source) {
    const stages = Object.entries(source.stage_seconds ?? {});
    this.#steady.about(source.id);
    this.#lay(stages.map(([name]) => name));
    let total = 0;
    for (const [name, latest] of stages) {
      const seconds = this.#steady.read(name, latest);
      total += seconds;
      this.#draw(name, seconds);
    }
    this.#sum.textContent = stages.length ? `${milliseconds(total)} ms in all` : "no frame yet";
  }

  #lay(names) {
    if (names.join() === this.#laid) return;
    this.#laid = names.join();
    this.#bar.replaceChildren(...names.map((name) => part("span", name)));
    this.#list.replaceChildren(...names.map(row));
  }

  #draw(name, seconds) {
    this.#bar.querySelector(`[data-stage="${name}"]`).style.flexGrow = String(seconds * 1e6);
    this.#list.querySelector(`[data-stage="${name}"] dd`).textContent = `${milliseconds(seconds)} ms`;
  }
}

function row(name) {
  const pair = part("div", name);
  const term = document.createElement("dt");
  term.textContent = name;
  pair.append(term, document.createElement("dd"));
  return pair;
}

function part(tag, name) {
  const element = document.createElement(tag);
  element.dataset.stage = name;
  return element;
}
