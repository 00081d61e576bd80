// Where the time of a frame goes: one bar, one part a stage, with milliseconds.

import { milliseconds } from "./figures.js";

const WEIGHT = 0.3; // of the newest reading; steadies the bar without hiding a change

export class Stages {
  #bar;
  #list;
  #sum;
  #steady = new Map();
  #id = null;

  /** Draws into `bar` and `list` (a <dl>); the total goes into `sum`. */
  constructor({ bar, list, sum }) {
    this.#bar = bar;
    this.#list = list;
    this.#sum = sum;
  }

  /** Shows `stage_seconds` of `source`, in the order in which a frame passes the stages. */
  show(source) {
    const stages = Object.entries(source.stage_seconds ?? {}).filter(([, seconds]) => seconds !== null);
    const names = stages.map(([name]) => name);
    if (source.id !== this.#id || names.join() !== [...this.#steady.keys()].join()) this.#lay(source.id, names);
    for (const [name, seconds] of stages) this.#draw(name, seconds);
    const total = [...this.#steady.values()].reduce((sum, seconds) => sum + seconds, 0);
    this.#sum.textContent = stages.length ? `${milliseconds(total)} ms in all` : "no frame yet";
  }

  #lay(id, names) {
    this.#id = id;
    this.#steady = new Map(names.map((name) => [name, null]));
    this.#bar.replaceChildren(...names.map((name) => part("span", name)));
    this.#list.replaceChildren(...names.map(row));
  }

  #draw(name, seconds) {
    const before = this.#steady.get(name) ?? seconds;
    const steady = before + WEIGHT * (seconds - before);
    this.#steady.set(name, steady);
    this.#bar.querySelector(`[data-stage="${name}"]`).style.flexGrow = String(steady * 1e6);
    this.#list.querySelector(`[data-stage="${name}"] dd`).textContent = `${milliseconds(steady)} ms`;
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
