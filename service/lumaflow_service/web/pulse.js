// A beat that repeats while someone looks: it stops with the tab hidden and never overlaps itself.

export class Pulse {
  #beat;
  #period;
  #timer = 0;
  #beating = false;
  #wanted = false;

  /** Calls `beat`, waits until it is over, then `period` milliseconds, and again. */
  constructor(period, beat) {
    this.#period = period;
    this.#beat = beat;
    document.addEventListener("visibilitychange", () => this.#wanted && this.start());
  }

  /** Beats now, and from then on. */
  async start() {
    this.#wanted = true;
    clearTimeout(this.#timer);
    if (document.hidden || this.#beating) return;
    this.#beating = true;
    try {
      await this.#beat();
    } finally {
      this.#beating = false;
      if (this.#wanted) this.#timer = setTimeout(() => this.start(), this.#period);
    }
  }

  /** Beats no more. */
  stop() {
    this.#wanted = false;
    clearTimeout(this.#timer);
  }
}
