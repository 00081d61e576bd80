// The live page: what the service knows, asked a few times a second and shown.

import { get, sourcePath } from "./client.js";
import { Controls } from "./controls.js";
import { ago, showFigures, size } from "./figures.js";
import { Histogram } from "./histogram.js";
import { Pictures } from "./pictures.js";
import { Pulse } from "./pulse.js";
import { Sources } from "./sources.js";
import { Stages } from "./stages.js";
import { welcome } from "./welcome.js";

const SOURCES_MS = 350;
const HISTOGRAM_MS = 400;
const READY_MS = 1000;

const STATES = {
  away: "Not answering",
  starting: "Starting",
  live: "Live",
  idle: "Idle",
  none: "No source yet",
};

const byId = (id) => document.getElementById(id);

const sources = new Sources(byId("sources"));
const pictures = new Pictures({ frame: byId("pictures"), raw: byId("raw"), enhanced: byId("enhanced") });
const stages = new Stages({ bar: byId("stage-bar"), list: byId("stage-list"), sum: byId("stages-sum") });
const histogram = new Histogram({
  canvas: byId("histogram"),
  before: byId("mean-before"),
  after: byId("mean-after"),
});
const controls = new Controls({ form: byId("controls"), note: byId("controls-note") });

let answering = null; // null until the first answer, then whether the last question was answered
let ready = true;
let refusal = ""; // what the service said in place of the sources

async function askSources() {
  try {
    showSources((await get("v1/sources")).sources);
    become({ answering: true, refusal: "" });
  } catch (problem) {
    if (problem.status === undefined) throw problem;
    become({ answering: problem.status !== 0, refusal: problem.message });
  }
}

async function askHistogram() {
  const id = sources.chosen;
  if (!id || answering === false) return;
  try {
    const answer = await get(sourcePath(id, "histogram"));
    if (id === sources.chosen) histogram.show(answer);
  } catch (problem) {
    if (problem.status === 404) histogram.show(null); // known, but without a frame
    else if (problem.status === 503) readyPulse.start(); // a restart can be over before the next regular question
    else if (problem.status === undefined) throw problem;
  }
}

async function askReady() {
  const answer = await get("readyz").then(() => 200, (problem) => problem.status);
  if (answer !== 0) become({ ready: answer === 200 });
}

function showSources(all) {
  const chosen = sources.show(all);
  byId("rail").hidden = byId("live").hidden = !chosen;
  byId("empty").hidden = Boolean(chosen);
  pictures.show(chosen?.id ?? null, chosen?.geometry);
  byId("state").dataset.sources = chosen?.state ?? "none";
  if (chosen) showChosen(chosen);
}

function showChosen(source) {
  byId("source-name").textContent = source.id;
  const last = source.state === "live" || !source.geometry ? [] : [`last frame ${ago(source.age_seconds)}`];
  const format = source.geometry ? [source.geometry.format] : [];
  byId("source-facts").textContent = [size(source.geometry), ...format, ...last].join(" · ");
  showFigures(source);
  stages.show(source);
  controls.show(source);
}

/** Takes in a change of the service's health; says it once, and reopens the pictures when all is well again. */
function become(change) {
  const before = answering === true && ready;
  const first = answering === null;
  answering = change.answering ?? answering;
  ready = change.ready ?? ready;
  refusal = change.refusal ?? refusal;
  const well = answering === true && ready;
  if (well && !before && !first) pictures.connect();
  showHealth();
}

function showHealth() {
  const notice = trouble();
  say(byId("notice"), notice);
  byId("notice").hidden = !notice;
  document.body.classList.toggle("away", answering === false);
  const state = answering === false ? "away" : ready ? byId("state").dataset.sources : "starting";
  byId("state").dataset.state = state ?? "waiting";
  say(byId("state"), STATES[state] ?? "Connecting");
}

function trouble() {
  if (answering === false) return `The service at ${location.host} does not answer. Asking again by itself.`;
  if (!ready) return "The worker is starting again. Pictures come back by themselves in a moment.";
  return refusal;
}

// A live region speaks on every write, so it is written only when its words change.
function say(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

byId("views").addEventListener("change", (event) => pictures.look(event.target.value));
welcome({ command: byId("command"), button: byId("copy"), said: byId("copied") });
const sourcesPulse = new Pulse(SOURCES_MS, askSources);
const histogramPulse = new Pulse(HISTOGRAM_MS, askHistogram);
const readyPulse = new Pulse(READY_MS, askReady);
sources.addEventListener("choose", () => {
  histogram.show(null);
  sourcesPulse.start();
  histogramPulse.start();
});
for (const pulse of [sourcesPulse, readyPulse, histogramPulse]) pulse.start();
