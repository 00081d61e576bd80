// HTTP requests to the service, each with a timeout.

const TIMEOUT_MS = 4000;
const UPLOAD_TIMEOUT_MS = 60000;
const TOKEN_KEY = "lumaflow-token";

/** A failed request: the HTTP status (0 without a response) and the problem's detail. */
export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** The token that each request sends; it is kept until the tab is closed. */
export const token = {
  get: () => sessionStorage.getItem(TOKEN_KEY) ?? "",
  set: (value) => sessionStorage.setItem(TOKEN_KEY, value),
};

/** The JSON at `path`. Throws a Problem. */
export function get(path) {
  return requestJson(path);
}

/** The image at `path` as a bitmap. Throws a Problem. */
export async function getImage(path) {
  return createImageBitmap(await getBlob(path));
}

/** The bytes at `path`. Throws a Problem. */
export async function getBlob(path) {
  return (await request(path)).blob();
}

/** The response at `path` as a stream, until `signal` aborts it. Throws a Problem. */
export function getStream(path, signal) {
  return request(path, { signal });
}

/** Posts a WHEP offer (SDP) and returns the answer, and the location to delete. Throws a Problem. */
export async function postOffer(path, offer, signal) {
  const response = await request(path, { method: "POST", headers: { "Content-Type": "application/sdp" }, body: offer, signal });
  return { text: await response.text(), location: response.headers.get("Location") };
}

/** Sends `body` as JSON with `method` and returns the JSON of the response. Throws a Problem. */
export function send(method, path, body) {
  const json = body === undefined ? {} : { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  return requestJson(path, { method, ...json });
}

/** Uploads `file` and returns the JSON of the response. Throws a Problem. */
export function upload(path, file) {
  return requestJson(path, { method: "POST", headers: { "Content-Type": file.type }, body: file }, UPLOAD_TIMEOUT_MS);
}

/** The path of a source, or of a part of it. */
export function sourcePath(id, part = "") {
  return `v1/sources/${encodeURIComponent(id)}${part && `/${part}`}`;
}

async function requestJson(path, options, timeoutMs) {
  const response = await request(path, options, timeoutMs);
  return parseJson(await response.text().catch(() => ""));
}

async function request(path, options = {}, timeoutMs = TIMEOUT_MS) {
  const headers = { ...options.headers, ...(token.get() && { Authorization: `Bearer ${token.get()}` }) };
  let response;
  try {
    response = await fetch(path, { signal: AbortSignal.timeout(timeoutMs), ...options, headers, cache: "no-store" });
  } catch {
    throw new Problem(0, "The service does not respond.");
  }
  if (response.ok) return response;
  const problem = parseJson(await response.text().catch(() => ""));
  throw new Problem(response.status, problem?.detail ?? `The service responded with status ${response.status}.`);
}

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
