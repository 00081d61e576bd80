// Periodic polling: pauses while the tab is hidden, and never runs two calls at the same time.

export class Poll {
  #callback;
  #intervalMs;
  #timer = 0;
  #running = false;
  #active = false;

  /** Calls `callback`, waits for it to finish, then for `intervalMs`, and repeats. */
  constructor(intervalMs, callback) {
    this.#intervalMs = intervalMs;
    this.#callback = callback;
    document.addEventListener("visibilitychange", () => this.#active && this.start());
  }

  /** Calls now, and then periodically. */
  async start() {
    this.#active = true;
    clearTimeout(this.#timer);
    if (document.hidden || this.#running) return;
    this.#running = true;
    try {
      await this.#callback();
    } finally {
      this.#running = false;
      if (this.#active) this.#timer = setTimeout(() => this.start(), this.#intervalMs);
    }
  }

  /** Stops calling. */
  stop() {
    this.#active = false;
    clearTimeout(this.#timer);
  }
}
