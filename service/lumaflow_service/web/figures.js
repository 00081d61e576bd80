// The row of figures under the pictures, and how every number on the page is written.

import { Steady } from "./steady.js";
import { span } from "./words.js";

const byId = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat("en");
const steady = new Steady();

/** Seconds as milliseconds, with as many digits as mean something. */
export function milliseconds(seconds) {
  const value = seconds * 1000;
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

/** "1280 × 720"; "" for a source without a frame. */
export function size(geometry) {
  return geometry ? `${geometry.width} × ${geometry.height}` : "";
}

/** Bytes in units of 2^20. */
export function mebibytes(bytes) {
  return `${whole.format(Math.round((bytes / 2 ** 20) * 10) / 10)} MiB`;
}

/** Frames a second, with one digit. */
export function rate(source) {
  return source.frames_per_second.toFixed(1);
}

/** Writes the figures of `source`. */
export function showFigures(source) {
  steady.about(source.id);
  const { frame_seconds: seconds } = source;
  byId("rate").textContent = rate(source);
  byId("frame-time").textContent = seconds ? milliseconds(steady.read("frame", seconds)) : "–";
  byId("lut").textContent = source.lut ?? "–";
  byId("lut-age").textContent = lutAge(source);
  byId("frames").textContent = whole.format(source.frames);
  byId("device").textContent = source.device || "–";
}

/** Writes how old the picture on the page is; null when that is not known. */
export function showAge(seconds) {
  const [value, unit] = seconds === null ? ["–", "ms"] : span(steady.read("age", seconds)).split(" ");
  byId("age").textContent = value;
  byId("age-unit").textContent = unit;
}

function lutAge({ lut, lut_age: frames }) {
  if (lut !== "previous" || !frames) return "";
  return frames === 1 ? "1 frame old" : `${whole.format(frames)} frames old`;
}
