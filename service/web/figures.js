// The row of figures under the pictures, and how every number on the page is written.

import { Steady } from "./steady.js";

const byId = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat("en");
const steady = new Steady();

/** Seconds as milliseconds, with as many digits as mean something. */
export function milliseconds(seconds) {
  const value = seconds * 1000;
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

/** "1280 × 720", or words for a source without a frame. */
export function size(geometry) {
  return geometry ? `${geometry.width} × ${geometry.height}` : "no frame yet";
}

/** Frames a second, with one digit. */
export function rate(source) {
  return source.frames_per_second.toFixed(1);
}

/** How long ago, in the largest unit that fits. */
export function ago(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  return `${Math.round(seconds / 3600)} h ago`;
}

/** Writes the figures of `source`. */
export function showFigures(source) {
  steady.about(source.id);
  const { frame_seconds: seconds } = source;
  byId("rate").textContent = rate(source);
  byId("frame-time").textContent = seconds ? milliseconds(steady.read("frame", seconds)) : "–";
  byId("lut").textContent = source.lut ?? "–";
  byId("lut-age").textContent = age(source);
  byId("queue").textContent = whole.format(source.queue_depth ?? 0);
  byId("frames").textContent = whole.format(source.frames);
  byId("device").textContent = source.device ?? "–";
}

function age({ lut, lut_age: frames }) {
  if (lut !== "previous" || !frames) return "";
  return frames === 1 ? "1 frame old" : `${whole.format(frames)} frames old`;
}
