// The live page: polls the service for sources and shows their video.

import { Cameras } from "./cameras.js";
import { get, getBlob, send, sourcePath, token } from "./client.js";
import { addCopyButton, showCommand } from "./command.js";
import { Compare, stacked } from "./compare.js";
import { Controls } from "./controls.js";
import { Health, setText } from "./health.js";
import { Histogram } from "./histogram.js";
import { Live } from "./live.js";
import { OneShotImage } from "./one-shot-image.js";
import { Overlay } from "./overlay.js";
import { Poll } from "./poll.js";
import { Sources } from "./sources.js";
import { Stages } from "./stages.js";
import { showAge, showStats, size } from "./stats.js";
import { statusOf } from "./status-text.js";
import { showTone } from "./tone.js";
import { Wall } from "./wall.js";

const SOURCES_MS = 400;
const HISTOGRAM_MS = 500;
const READY_MS = 1000;
const PAGES = ["wall", "source", "try", "empty"];

const byId = (id) => document.getElementById(id);

const compare = new Compare(byId("stage"));
const live = new Live({
  onImage: (bitmap, age) => {
    compare.setImage(stacked(bitmap));
    showAge(age);
  },
  onError: (text) => setText(byId("live-note"), text),
});
const overlay = new Overlay({ compare, legend: byId("legend") });
const sources = new Sources(byId("sources"));
const wall = new Wall(byId("wall"));
const stages = new Stages({ bar: byId("stage-bar"), rows: byId("stage-rows"), sum: byId("stages-sum") });
const histogram = new Histogram({ canvas: byId("histogram"), before: byId("mean-before"), after: byId("mean-after") });
const health = new Health({ onRecovered: () => live.reset(), onToken: start });
const cameras = new Cameras({ onChange: () => sourcesPoll.start() });

let known = []; // all sources of the last response
let selected = null; // the source on the page
let countedSequence = -1; // the frame of the shown histogram
let about = null; // the response of /v1/about: limits, options, scopes of the token
let [controls, oneShotImage] = [null, null]; // created from `about`

async function start() {
  about = null; // another token may have other scopes
  await sourcesPoll.start();
  live.reset();
}

async function fetchSources() {
  try {
    if (!about) createForms(await get("v1/about"));
    known = (await get("v1/sources")).sources;
    const states = new Set(known.map((source) => source.state));
    health.setSources(states.has("live") ? "live" : states.size ? "idle" : "none");
    show();
  } catch (problem) {
    if (problem.status === undefined) throw problem;
    health.setError(problem);
  }
}

function createForms(response) {
  about = response;
  const change = (options) => send("PATCH", sourcePath(selected.id), { options });
  controls ??= new Controls({ form: byId("controls"), note: byId("controls-note"), about, send: change });
  oneShotImage ??= new OneShotImage(about);
  byId("transports").hidden = !about.webrtc;
  for (const part of [controls, cameras, overlay]) part.setEnabled(about.scopes.includes("admin"));
  oneShotImage.setEnabled(about.scopes.includes("ingest"));
}

async function fetchHistogram() {
  if (!selected || health.offline || !selected.picture || selected.sequence === countedSequence) return;
  const { id, sequence } = selected;
  countedSequence = sequence;
  try {
    const response = await get(sourcePath(id, "histogram"));
    if (id === selected?.id) histogram.show(response);
  } catch (problem) {
    if (problem.status === 503) readyPoll.start(); // a restart may finish before the next poll
    else if (problem.status === 404) histogram.show(null); // the lane is closed
    else if (problem.status === undefined) throw problem;
  }
}

async function fetchReady() {
  const problem = await get("readyz").then(() => null, (error) => error);
  if (!problem || problem.status === 503) health.setReady(!problem, problem?.message);
}

/** The page in the URL fragment: wall, source, or image; without a fragment the source, if there is only one. */
function currentPage() {
  const [name, id] = location.hash.slice(1).split("=");
  if (["try", "image", "trial"].includes(name)) return { page: "try", id };
  if (!known.length) return { page: "empty" };
  const named = known.find((source) => name === "source" && source.id === id);
  const only = name === "" && known.length === 1 ? known[0] : null;
  if (named || only) return { page: "source", source: named ?? only };
  return { page: "wall", missing: name === "source" ? id : undefined };
}

function show() {
  const { page, source = null, id, missing } = currentPage();
  for (const name of PAGES) byId(`${name}-page`).hidden = name !== page;
  byId("to-wall").setAttribute("aria-current", String(page === "wall"));
  byId("to-try").setAttribute("aria-current", String(page === "try"));
  document.title = source ? `${source.id} · lumaflow` : "lumaflow";
  wall.show(page === "wall" ? known : null);
  setText(byId("wall-count"), `${known.length}`);
  setText(byId("wall-note"), missing === undefined ? "" : `There is no source ${missing}. The existing sources are:`);
  select(source);
  if (page === "try" && id) oneShotImage.open(id);
}

function select(source) {
  const changed = source?.id !== selected?.id;
  selected = source;
  if (changed) {
    compare.setImage(null);
    histogram.show(null);
    countedSequence = -1;
    showAge(null);
    setText(byId("live-note"), "");
  }
  overlay.setSource(source);
  live.watch(source?.geometry ? source.id : null);
  if (source) showSelected(source);
  if (source && changed) histogramPoll.start();
}

function showSelected(source) {
  const { state, label, message } = statusOf(source);
  byId("source-name").textContent = source.id;
  setText(byId("source-status"), label);
  byId("source-status").dataset.state = state;
  setText(byId("source-message"), message);
  byId("source-message").hidden = !message;
  byId("source-facts").textContent = [size(source.geometry), source.geometry?.format].filter(Boolean).join(" · ");
  const placeholder = source.picture || !source.frames ? label : `${label}. The last frame is no longer stored.`;
  Object.assign(byId("stage").dataset, { state, label: placeholder });
  if (source.geometry) compare.setAspectRatio(orientedSize(source));
  compare.setRegion(source.options.region);
  sources.show(known, source.id);
  showStats(source);
  stages.show(source);
  showTone(byId("tone"), source.tone);
  controls.show(source.id, source.options, source.geometry && orientedSize(source));
  cameras.show(source);
}

/** Width and height after the orientation is applied. */
function orientedSize({ geometry: { width, height }, options: { orientation } }) {
  const swapped = ["transpose", "rotate90", "rotate270"].includes(orientation);
  return swapped ? { width: height, height: width } : { width, height };
}

byId("views").addEventListener("change", ({ target }) => compare.setView(target.value));
byId("transports").addEventListener("change", ({ target }) => live.setTransport(target.value));
byId("overlays").addEventListener("change", ({ target }) => overlay.setFeature(target.value));
showCommand(byId("command"));
addCopyButton({ text: byId("command"), button: byId("copy"), status: byId("copied") });
byId("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the URL fragment names the page
  byId("view").focus();
});
byId("to-metrics").addEventListener("click", async (event) => {
  if (!token.get()) return;
  event.preventDefault(); // a link sends no token
  await getBlob("metrics").then((text) => (location.href = URL.createObjectURL(text)), (problem) => health.setError(problem));
});
addEventListener("hashchange", () => controls && show());
const sourcesPoll = new Poll(SOURCES_MS, fetchSources);
const histogramPoll = new Poll(HISTOGRAM_MS, fetchHistogram);
const readyPoll = new Poll(READY_MS, fetchReady);
for (const poll of [sourcesPoll, readyPoll, histogramPoll]) poll.start();
