// MJPEG, taken apart by hand: an <img> could carry no token.

import { getFlow } from "./client.js";

const HEAD_END = "\r\n\r\n";
const text = new TextDecoder("latin1");

/** Gives each JPEG that comes from `path` to `onJpeg`, awaited before the next; returns when no more comes. */
export async function motion(path, signal, onJpeg) {
  const reader = (await getFlow(path, signal)).body.getReader();
  let held = new Uint8Array(0);
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    held = joined(held, chunk.value);
    for (let part = firstPart(held); part; part = firstPart(held)) {
      held = held.subarray(part.end);
      await onJpeg(part.jpeg);
    }
  }
}

/** The first whole part in `bytes` and where it ends; null when none is whole yet. */
function firstPart(bytes) {
  const head = text.decode(bytes.subarray(0, 512));
  const [start, length] = [head.indexOf(HEAD_END) + HEAD_END.length, Number(head.match(/Content-Length: (\d+)/)?.[1])];
  if (start < HEAD_END.length || bytes.length < start + length) return null;
  return { jpeg: new Blob([bytes.subarray(start, start + length)], { type: "image/jpeg" }), end: start + length };
}

function joined(one, other) {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}
