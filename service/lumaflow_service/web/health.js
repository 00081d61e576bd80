// How the service is, in one word at the top and, when something is off, in a sentence.

import { token } from "./client.js";

const byId = (id) => document.getElementById(id);

const STATES = { away: "Not answering", locked: "Locked", starting: "Starting", live: "Live", idle: "Idle", none: "No source yet" };

export class Health {
  #answering = null; // null until the first answer, then whether the last question was answered
  #ready = true;
  #pause = ""; // why it is not ready, as the service says
  #began = false; // whether it was ever ready
  #refusal = null; // what the service said in place of the sources
  #sources = "none";
  #onWell;

  /** Calls `onWell` when all is well again; with a token given, `onToken`. */
  constructor({ onWell, onToken }) {
    this.#onWell = onWell;
    byId("token-form").addEventListener("submit", (event) => {
      event.preventDefault();
      token.set(byId("token").value.trim());
      byId("token").value = "";
      onToken();
    });
  }

  /** Whether the service answers, as far as is known. */
  get away() {
    return this.#answering === false;
  }

  /** The sources came: "live", "idle" or "none". */
  hear(sources) {
    this.#become({ answering: true, refusal: null, sources });
  }

  /** A Problem came in place of the sources. */
  miss(problem) {
    this.#become({ answering: problem.status !== 0, refusal: problem.status ? problem : null });
  }

  /** Whether /readyz says 200, and if not, why. */
  ready(ready, pause = "") {
    this.#pause = pause;
    this.#began ||= ready;
    this.#become({ ready });
  }

  #become({ answering = this.#answering, ready = this.#ready, refusal = this.#refusal, sources = this.#sources }) {
    const [before, first] = [this.#answering === true && this.#ready && !this.#refusal, this.#answering === null];
    [this.#answering, this.#ready, this.#refusal, this.#sources] = [answering, ready, refusal, sources];
    if (answering === true && ready && !refusal && !before && !first) this.#onWell();
    this.#show();
  }

  #show() {
    const locked = this.#refusal?.status === 401 || this.#refusal?.status === 403;
    const notice = this.#trouble();
    const state = this.away ? "away" : locked ? "locked" : this.#ready ? this.#sources : "starting";
    say(byId("notice"), notice);
    byId("notice").hidden = !notice;
    byId("token-form").hidden = !locked;
    document.body.classList.toggle("away", this.away);
    document.body.classList.toggle("locked", locked);
    byId("state").dataset.state = state;
    say(byId("state"), this.#answering === null ? "Connecting" : STATES[state]);
  }

  #trouble() {
    if (this.away) return `The service at ${location.host} does not answer. Asking again by itself.`;
    if (this.#refusal?.status === 401) return token.get() ? "That token is wrong. Give another one." : "This service wants a token.";
    if (this.#refusal?.status === 403) return "This token is right, but may not look at sources. Give another one.";
    if (!this.#ready && !this.#began) return `Not ready yet: ${this.#pause}. This page does so by itself.`;
    if (!this.#ready) return "The worker is starting again. Pictures come back by themselves in a moment.";
    return this.#refusal?.message ?? "";
  }
}

/** Writes words only when they change: a live region speaks on every write. */
export function say(element, words) {
  if (element.textContent !== words) element.textContent = words;
}
