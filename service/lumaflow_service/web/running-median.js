// The median of the last values, so that one slow frame does not make a number jump.

const WINDOW = 9;

export class RunningMedian {
  #values = new Map();
  #subject = null;

  /** Discards all values if `subject` (the source they belong to) changes. */
  setSubject(subject) {
    if (subject !== this.#subject) this.#values.clear();
    this.#subject = subject;
  }

  /** Adds a value of the series `name` and returns the median. */
  add(name, value) {
    const values = [...(this.#values.get(name) ?? []), value].slice(-WINDOW);
    this.#values.set(name, values);
    return values.toSorted((a, b) => a - b)[values.length >> 1];
  }
}
