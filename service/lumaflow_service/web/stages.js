// Stage times: one bar of medians, and a table with the median and the 99th percentile of each stage.

import { milliseconds } from "./stats.js";

export class Stages {
  #bar;
  #rows;
  #sum;
  #names = "";

  /** Renders into `bar` and `rows` (a <tbody>); the total is written into `sum`. */
  constructor({ bar, rows, sum }) {
    this.#bar = bar;
    this.#rows = rows;
    this.#sum = sum;
  }

  /** Shows `stage_latency` of `source`, in pipeline order. */
  show(source) {
    const stages = Object.entries(source.stage_latency);
    this.#createRows(stages.map(([name]) => name));
    const longest = Math.max(...stages.map(([, { p99 }]) => p99), 1e-9);
    for (const [name, latency] of stages) this.#update(name, latency, longest);
    const total = stages.reduce((sum, [, { p50 }]) => sum + p50, 0);
    this.#sum.textContent = stages.length ? `last minute · ${milliseconds(total)} ms in all` : "no frame in the last minute";
  }

  #createRows(names) {
    if (names.join() === this.#names) return;
    this.#names = names.join();
    this.#bar.replaceChildren(...names.map((name) => part("span", name)));
    this.#rows.replaceChildren(...names.map(row));
  }

  #update(name, { p50, p99 }, longest) {
    this.#bar.querySelector(`[data-stage="${name}"]`).style.flexGrow = String(p50 * 1e6);
    const [, range, median, percentile] = this.#rows.querySelector(`[data-stage="${name}"]`).children;
    range.style.setProperty("--p50", p50 / longest);
    range.style.setProperty("--p99", p99 / longest);
    median.textContent = milliseconds(p50);
    percentile.textContent = milliseconds(p99);
  }
}

function row(name) {
  const line = part("tr", name);
  const title = document.createElement("th");
  title.scope = "row";
  title.textContent = name;
  const cells = ["range", "", ""].map((kind) => {
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
