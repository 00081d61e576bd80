// A figure that can be read: the median of the last few readings, so that one slow frame does not shake it.

const READINGS = 9;

export class Steady {
  #readings = new Map();
  #subject = null;

  /** Forgets everything when `subject`, whose figures these are, is another one. */
  about(subject) {
    if (subject !== this.#subject) this.#readings.clear();
    this.#subject = subject;
  }

  /** Takes in a reading of the figure `name` and returns what to show. */
  read(name, value) {
    const readings = [...(this.#readings.get(name) ?? []), value].slice(-READINGS);
    this.#readings.set(name, readings);
    return readings.toSorted((a, b) => a - b)[readings.length >> 1];
  }
}
