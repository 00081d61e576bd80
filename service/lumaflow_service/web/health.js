// The state of the service: a label in the header and, if something is wrong, a sentence below it.

import { token } from "./client.js";

const byId = (id) => document.getElementById(id);

const LABELS = { offline: "Not responding", locked: "Locked", starting: "Starting", live: "Live", idle: "Idle", none: "No source yet" };

export class Health {
  #responding = null; // null before the first response
  #ready = true;
  #notReadyReason = ""; // the detail of /readyz
  #wasReady = false;
  #error = null; // the Problem of the last request for the sources
  #sources = "none";
  #onRecovered;

  /** Calls `onRecovered` when the service works again, and `onToken` when the user enters a token. */
  constructor({ onRecovered, onToken }) {
    this.#onRecovered = onRecovered;
    byId("token-form").addEventListener("submit", (event) => {
      event.preventDefault();
      token.set(byId("token").value.trim());
      byId("token").value = "";
      onToken();
    });
  }

  /** True while the service does not respond. */
  get offline() {
    return this.#responding === false;
  }

  /** Takes the state of the received sources: "live", "idle" or "none". */
  setSources(sources) {
    this.#update({ responding: true, error: null, sources });
  }

  /** Takes the Problem of a request for the sources. */
  setError(problem) {
    this.#update({ responding: problem.status !== 0, error: problem.status ? problem : null });
  }

  /** Takes the result of /readyz. */
  setReady(ready, reason = "") {
    this.#notReadyReason = reason;
    this.#wasReady ||= ready;
    this.#update({ ready });
  }

  #update({ responding = this.#responding, ready = this.#ready, error = this.#error, sources = this.#sources }) {
    const [wasHealthy, isFirst] = [this.#responding === true && this.#ready && !this.#error, this.#responding === null];
    [this.#responding, this.#ready, this.#error, this.#sources] = [responding, ready, error, sources];
    if (responding === true && ready && !error && !wasHealthy && !isFirst) this.#onRecovered();
    this.#render();
  }

  #render() {
    const locked = this.#error?.status === 401 || this.#error?.status === 403;
    const message = this.#message();
    const state = this.offline ? "offline" : locked ? "locked" : this.#ready ? this.#sources : "starting";
    setText(byId("notice"), message);
    byId("notice").hidden = !message;
    byId("token-form").hidden = !locked;
    document.body.classList.toggle("offline", this.offline);
    document.body.classList.toggle("locked", locked);
    byId("state").dataset.state = state;
    setText(byId("state"), this.#responding === null ? "Connecting" : LABELS[state]);
  }

  #message() {
    if (this.offline) return `The service at ${location.host} does not respond. This page retries automatically.`;
    if (this.#error?.status === 401) return token.get() ? "This token is wrong. Enter another one." : "This service requires a token.";
    if (this.#error?.status === 403) return "This token is valid but cannot read sources. Enter another one.";
    if (!this.#ready && !this.#wasReady) return `The service is not ready: ${this.#notReadyReason}. This page retries automatically.`;
    if (!this.#ready) return "The worker is restarting. Video continues automatically.";
    return this.#error?.message ?? "";
  }
}

/** Writes `text` if it differs: screen readers announce every write to a live region. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
