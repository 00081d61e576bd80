// The live page: what the service knows, asked a few times a second, and the pictures it sends.

import { Cameras } from "./cameras.js";
import { get, getBlob, send, sourcePath, token } from "./client.js";
import { Compare, stacked } from "./compare.js";
import { Controls } from "./controls.js";
import { showAge, showFigures, size } from "./figures.js";
import { Health, say } from "./health.js";
import { Histogram } from "./histogram.js";
import { Live } from "./live.js";
import { Overlay } from "./overlay.js";
import { Pulse } from "./pulse.js";
import { Sources } from "./sources.js";
import { Stages } from "./stages.js";
import { Trial } from "./trial.js";
import { Wall } from "./wall.js";
import { copyable, welcome } from "./welcome.js";
import { standing } from "./words.js";

const SOURCES_MS = 400;
const HISTOGRAM_MS = 500;
const READY_MS = 1000;
const PAGES = ["wall", "source", "try", "empty"];

const byId = (id) => document.getElementById(id);

const compare = new Compare(byId("stage"));
const live = new Live({
  onPicture: (bitmap, age) => {
    compare.show(stacked(bitmap));
    showAge(age);
  },
  onTrouble: (words) => say(byId("live-note"), words),
});
const overlay = new Overlay({ compare, legend: byId("legend") });
const sources = new Sources(byId("sources"));
const wall = new Wall(byId("wall"));
const stages = new Stages({ bar: byId("stage-bar"), rows: byId("stage-rows"), sum: byId("stages-sum") });
const histogram = new Histogram({ canvas: byId("histogram"), before: byId("mean-before"), after: byId("mean-after") });
const health = new Health({ onWell: () => live.renew(), onToken: start });
const cameras = new Cameras({ onChange: () => sourcesPulse.start() });

let known = []; // all sources, as last heard
let chosen = null; // the one that is shown
let counted = -1; // the frame that was counted last
let about = null; // what the service said of itself, and of what our token may do
let [controls, trial] = [null, null]; // built from that

async function start() {
  about = null; // another token may do other things
  await sourcesPulse.start();
  live.renew();
}

async function askSources() {
  try {
    if (!about) build(await get("v1/about"));
    known = (await get("v1/sources")).sources;
    const states = new Set(known.map((source) => source.state));
    health.hear(states.has("live") ? "live" : states.size ? "idle" : "none");
    show();
  } catch (problem) {
    if (problem.status === undefined) throw problem;
    health.miss(problem);
  }
}

function build(answer) {
  about = answer;
  const change = (options) => send("PATCH", sourcePath(chosen.id), { options });
  controls ??= new Controls({ form: byId("controls"), note: byId("controls-note"), about, send: change });
  trial ??= new Trial(about);
  byId("transports").hidden = !about.webrtc;
  for (const part of [controls, cameras, overlay]) part.allow(about.scopes.includes("admin"));
  trial.allow(about.scopes.includes("ingest"));
}

async function askHistogram() {
  if (!chosen || health.away || !chosen.picture || chosen.sequence === counted) return;
  const { id, sequence } = chosen;
  counted = sequence;
  try {
    const answer = await get(sourcePath(id, "histogram"));
    if (id === chosen?.id) histogram.show(answer);
  } catch (problem) {
    if (problem.status === 503) readyPulse.start(); // a restart can be over before the next regular question
    else if (problem.status === 404) histogram.show(null); // its lane was closed meanwhile
    else if (problem.status === undefined) throw problem;
  }
}

async function askReady() {
  const problem = await get("readyz").then(() => null, (refusal) => refusal);
  if (!problem || problem.status === 503) health.ready(!problem, problem?.message);
}

/** Where the address points: the wall, a source, or an image; without a word the one source there is. */
function place() {
  const [name, id] = location.hash.slice(1).split("=");
  if (name === "try" || name === "trial") return { page: "try", id };
  if (!known.length) return { page: "empty" };
  const named = known.find((source) => name === "source" && source.id === id);
  const only = name === "" && known.length === 1 ? known[0] : null;
  if (named || only) return { page: "source", source: named ?? only };
  return { page: "wall", missing: name === "source" ? id : undefined };
}

function show() {
  const { page, source = null, id, missing } = place();
  for (const name of PAGES) byId(`${name}-page`).hidden = name !== page;
  byId("to-wall").setAttribute("aria-current", String(page === "wall"));
  byId("to-try").setAttribute("aria-current", String(page === "try"));
  document.title = source ? `${source.id} · lumaflow` : "lumaflow";
  wall.show(page === "wall" ? known : null);
  say(byId("wall-count"), `${known.length}`);
  say(byId("wall-note"), missing === undefined ? "" : `There is no source ${missing}. These there are:`);
  choose(source);
  if (page === "try" && id) trial.open(id);
}

function choose(source) {
  const other = source?.id !== chosen?.id;
  chosen = source;
  if (other) {
    compare.show(null);
    histogram.show(null);
    counted = -1;
    showAge(null);
    say(byId("live-note"), "");
  }
  overlay.follow(source);
  live.watch(source?.geometry ? source.id : null);
  if (source) showChosen(source);
  if (source && other) histogramPulse.start();
}

function showChosen(source) {
  const { state, words, trouble } = standing(source);
  byId("source-name").textContent = source.id;
  say(byId("source-words"), words);
  byId("source-words").dataset.state = state;
  say(byId("source-trouble"), trouble);
  byId("source-trouble").hidden = !trouble;
  byId("source-facts").textContent = [size(source.geometry), source.geometry?.format].filter(Boolean).join(" · ");
  const blank = source.picture || !source.frames ? words : `${words}. Its picture is not kept so long.`;
  Object.assign(byId("stage").dataset, { state, words: blank });
  if (source.geometry) compare.shape(turned(source));
  compare.mark(source.options.region);
  sources.show(known, source.id);
  showFigures(source);
  stages.show(source);
  controls.show(source.id, source.options, source.geometry && turned(source));
  cameras.show(source);
}

/** Width and height as they are shown. */
function turned({ geometry: { width, height }, options: { orientation } }) {
  const swapped = ["transpose", "rotate90", "rotate270"].includes(orientation);
  return swapped ? { width: height, height: width } : { width, height };
}

byId("views").addEventListener("change", ({ target }) => compare.look(target.value));
byId("transports").addEventListener("change", ({ target }) => live.by(target.value));
byId("overlays").addEventListener("change", ({ target }) => overlay.look(target.value));
welcome(byId("command"));
copyable({ text: byId("command"), button: byId("copy"), said: byId("copied") });
byId("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address names the page that is shown
  byId("view").focus();
});
byId("to-metrics").addEventListener("click", async (event) => {
  if (!token.get()) return;
  event.preventDefault(); // a plain link carries no token
  await getBlob("metrics").then((text) => (location.href = URL.createObjectURL(text)), (problem) => health.miss(problem));
});
addEventListener("hashchange", () => controls && show());
const sourcesPulse = new Pulse(SOURCES_MS, askSources);
const histogramPulse = new Pulse(HISTOGRAM_MS, askHistogram);
const readyPulse = new Pulse(READY_MS, askReady);
for (const pulse of [sourcesPulse, readyPulse, histogramPulse]) pulse.start();
