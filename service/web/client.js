// Asking the service: JSON in, JSON out, never longer than a few seconds.

const PATIENCE_MS = 4000;

/** What the service answered when it did not do what was asked; `status` 0 means it did not answer. */
export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** The JSON at `path`; a Problem when the service refuses or is not there. */
export function get(path) {
  return ask(path, {});
}

/** Sends `body` as JSON and returns the answer. */
export function patch(path, body) {
  const headers = { "Content-Type": "application/json" };
  return ask(path, { method: "PATCH", headers, body: JSON.stringify(body) });
}

/** The address of one source, or of a part of it. */
export function sourcePath(id, part = "") {
  return `v1/sources/${encodeURIComponent(id)}${part && `/${part}`}`;
}

async function ask(path, request) {
  let reply;
  let body;
  try {
    reply = await fetch(path, { ...request, cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
    body = await reply.text();
  } catch {
    throw new Problem(0, "The service does not answer.");
  }
  const json = parsed(body);
  if (!reply.ok) throw new Problem(reply.status, json?.detail ?? `The service answered ${reply.status}.`);
  return json;
}

function parsed(body) {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
