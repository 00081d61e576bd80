// The row of numbers below the video, and number formats for the whole page.

import { RunningMedian } from "./running-median.js";
import { duration } from "./status-text.js";

const byId = (id) => document.getElementById(id);
const integer = new Intl.NumberFormat("en");
const medians = new RunningMedian();

/** Seconds as milliseconds, with about three significant digits. */
export function milliseconds(seconds) {
  const value = seconds * 1000;
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

/** "1280 × 720"; "" for a source without a frame. */
export function size(geometry) {
  return geometry ? `${geometry.width} × ${geometry.height}` : "";
}

/** Bytes in MiB. */
export function mebibytes(bytes) {
  return `${integer.format(Math.round((bytes / 2 ** 20) * 10) / 10)} MiB`;
}

/** Frames per second, with one decimal. */
export function rate(source) {
  return source.frames_per_second.toFixed(1);
}

/** Shows the numbers of `source`. */
export function showStats(source) {
  medians.setSubject(source.id);
  const { frame_seconds: seconds } = source;
  byId("rate").textContent = rate(source);
  byId("frame-time").textContent = seconds ? milliseconds(medians.add("frame", seconds)) : "–";
  byId("lut").textContent = source.lut ?? "–";
  byId("lut-age").textContent = lutAge(source);
  byId("frames").textContent = integer.format(source.frames);
  byId("device").textContent = source.device || "–";
}

/** Shows the age of the image on the page; null if unknown. */
export function showAge(seconds) {
  const [value, unit] = seconds === null ? ["–", "ms"] : duration(medians.add("age", seconds)).split(" ");
  byId("age").textContent = value;
  byId("age-unit").textContent = unit;
}

function lutAge({ lut, lut_age: frames }) {
  if (lut !== "previous" || !frames) return "";
  return frames === 1 ? "1 frame old" : `${integer.format(frames)} frames old`;
}
