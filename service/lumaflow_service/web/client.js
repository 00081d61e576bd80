// Asking the service: JSON in, JSON out, never longer than a few seconds.

const PATIENCE_MS = 4000;
const UPLOAD_PATIENCE_MS = 60000;
const TOKEN = "lumaflow-token";

/** What the service answered when it did not do what was asked; `status` 0 means it did not answer. */
export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** The token that goes with every question; kept until the tab is closed. */
export const token = {
  get: () => sessionStorage.getItem(TOKEN) ?? "",
  set: (value) => sessionStorage.setItem(TOKEN, value),
};

/** The JSON at `path`; a Problem when the service refuses or is not there. */
export function get(path) {
  return ask(path);
}

/** The picture at `path`, decoded. */
export async function getPicture(path) {
  return createImageBitmap(await getBlob(path));
}

/** The bytes at `path`. */
export async function getBlob(path) {
  return (await fetched(path)).blob();
}

/** The answer at `path` while it still comes, until `signal` ends it. */
export function getFlow(path, signal) {
  return fetched(path, { signal });
}

/** Posts an offer (SDP) and returns the answer, and where it can be taken back. */
export async function exchange(path, offer, signal) {
  const reply = await fetched(path, { method: "POST", headers: { "Content-Type": "application/sdp" }, body: offer, signal });
  return { text: await reply.text(), location: reply.headers.get("Location") };
}

/** Sends `body` as JSON with `method` and returns the answer. */
export function send(method, path, body) {
  const json = body === undefined ? {} : { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  return ask(path, { method, ...json });
}

/** Uploads `file` as it is and returns the answer. */
export function upload(path, file) {
  return ask(path, { method: "POST", headers: { "Content-Type": file.type }, body: file }, UPLOAD_PATIENCE_MS);
}

/** The address of one source, or of a part of it. */
export function sourcePath(id, part = "") {
  return `v1/sources/${encodeURIComponent(id)}${part && `/${part}`}`;
}

async function ask(path, request, patience) {
  const reply = await fetched(path, request, patience);
  return parsed(await reply.text().catch(() => ""));
}

async function fetched(path, request = {}, patience = PATIENCE_MS) {
  const headers = { ...request.headers, ...(token.get() && { Authorization: `Bearer ${token.get()}` }) };
  let reply;
  try {
    reply = await fetch(path, { signal: AbortSignal.timeout(patience), ...request, headers, cache: "no-store" });
  } catch {
    throw new Problem(0, "The service does not answer.");
  }
  if (reply.ok) return reply;
  const problem = parsed(await reply.text().catch(() => ""));
  throw new Problem(reply.status, problem?.detail ?? `The service answered ${reply.status}.`);
}

function parsed(body) {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
