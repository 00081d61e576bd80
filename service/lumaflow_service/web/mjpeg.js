// MJPEG parsed in JavaScript: an <img> element cannot send a token.

import { getStream } from "./client.js";

const HEADER_END = "\r\n\r\n";
const latin1 = new TextDecoder("latin1");

/** Calls `onJpeg` for each JPEG of `path` and awaits it; returns when the stream ends. */
export async function readMjpeg(path, signal, onJpeg) {
  const reader = (await getStream(path, signal)).body.getReader();
  let buffer = new Uint8Array(0);
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    buffer = concatenate(buffer, chunk.value);
    for (let part = firstPart(buffer); part; part = firstPart(buffer)) {
      buffer = buffer.subarray(part.end);
      await onJpeg(part.jpeg);
    }
  }
}

/** The first complete part in `bytes` and the offset of its end; null if it is incomplete. */
function firstPart(bytes) {
  const header = latin1.decode(bytes.subarray(0, 512));
  const [start, length] = [header.indexOf(HEADER_END) + HEADER_END.length, Number(header.match(/Content-Length: (\d+)/)?.[1])];
  if (start < HEADER_END.length || bytes.length < start + length) return null;
  return { jpeg: new Blob([bytes.subarray(start, start + length)], { type: "image/jpeg" }), end: start + length };
}

function concatenate(first, second) {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
