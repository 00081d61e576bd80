// Where the time of a frame goes: one bar of medians, and the median and the 99th percentile of each stage.

import { milliseconds } from "./figures.js";

export class Stages {
  #bar;
  #rows;
  #sum;
  #laid = "";

  /** Draws into `bar` and `rows` (a <tbody>); the total goes into `sum`. */
  constructor({ bar, rows, sum }) {
    this.#bar = bar;
    this.#rows = rows;
    this.#sum = sum;
  }

  /** Shows `stage_latency` of `source`, in the order in which a frame passes the stages. */
  show(source) {
    const stages = Object.entries(source.stage_latency);
    this.#lay(stages.map(([name]) => name));
    const longest = Math.max(...stages.map(([, { p99 }]) => p99), 1e-9);
    for (const [name, took] of stages) this.#draw(name, took, longest);
    const total = stages.reduce((sum, [, { p50 }]) => sum + p50, 0);
    this.#sum.textContent = stages.length ? `last minute · ${milliseconds(total)} ms in all` : "no frame in the last minute";
  }

  #lay(names) {
    if (names.join() === this.#laid) return;
    this.#laid = names.join();
    this.#bar.replaceChildren(...names.map((name) => part("span", name)));
    this.#rows.replaceChildren(...names.map(row));
  }

  #draw(name, { p50, p99 }, longest) {
    this.#bar.querySelector(`[data-stage="${name}"]`).style.flexGrow = String(p50 * 1e6);
    const [, reach, median, most] = this.#rows.querySelector(`[data-stage="${name}"]`).children;
    reach.style.setProperty("--p50", p50 / longest);
    reach.style.setProperty("--p99", p99 / longest);
    median.textContent = milliseconds(p50);
    most.textContent = milliseconds(p99);
  }
}

function row(name) {
  const line = part("tr", name);
  const title = document.createElement("th");
  title.scope = "row";
  title.textContent = name;
  const cells = ["reach", "", ""].map((kind) => {
    const cell = document.createElement("td");
    cell.className = kind;
    return cell;
  });
  line.append(title, ...cells);
  return line;
}

function part(tag, name) {
  const element = document.createElement(tag);
  element.dataset.stage = name;
  return element;
}
