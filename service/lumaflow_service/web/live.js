// Live video of a source, raw above enhanced in one image: over a WebSocket, as MJPEG without one, or over WebRTC.

import { sourcePath, token } from "./client.js";
import { readMjpeg } from "./mjpeg.js";
import { watchWhep } from "./whep.js";

const HEADER_BYTES = 8;
const RETRY_MS = [200, 400, 1000, 2000, 4000];
const MAX_FAILURES = 3; // WebSockets that never opened; after that a proxy probably blocks them
const TOO_MANY_VIEWERS = 4429;

export class Live {
  #onImage;
  #onError;
  #id = null;
  #webrtc = false;
  #close = () => {};
  #failures = 0;
  #retries = 0;
  #timer = 0;

  /** Calls `onImage(bitmap, ageSeconds or null)` for each image and `onError(text)` when the error text changes. */
  constructor({ onImage, onError }) {
    this.#onImage = onImage;
    this.#onError = onError;
    document.addEventListener("visibilitychange", () => this.connect());
  }

  /** Watches source `id`; null stops. */
  watch(id) {
    if (id === this.#id) return;
    this.#id = id;
    this.connect();
  }

  /** Selects the transport: "webrtc" or "socket" (the default). */
  setTransport(transport) {
    this.#webrtc = transport === "webrtc";
    this.reset();
  }

  /** Forgets past failures and connects: the service is back, or the token has changed. */
  reset() {
    this.#failures = 0;
    this.connect();
  }

  /** Closes the connection, and opens a new one unless the tab is hidden. */
  connect() {
    clearTimeout(this.#timer);
    this.#close();
    this.#close = () => {};
    if (this.#id === null || document.hidden) return;
    if (this.#webrtc) this.#close = this.#openWebRtc(this.#id);
    else this.#close = this.#failures < MAX_FAILURES ? this.#openSocket(this.#id) : this.#openMjpeg(this.#id);
  }

  #openSocket(id) {
    const url = new URL(`${sourcePath(id, "live")}?view=both`, document.baseURI);
    url.protocol = url.protocol.replace("http", "ws");
    const bearer = token.get() ? [`bearer.${encodeURIComponent(token.get())}`] : [];
    const socket = new WebSocket(url, ["lumaflow", ...bearer]);
    socket.binaryType = "arraybuffer";
    let [opened, newest, closed] = [false, -1, false];
    socket.onopen = () => ([opened, this.#failures] = [true, 0]);
    socket.onmessage = async ({ data }) => {
      const received = performance.now();
      const header = new DataView(data, 0, HEADER_BYTES);
      const sequence = header.getUint32(0, true);
      const bitmap = await createImageBitmap(new Blob([new Uint8Array(data, HEADER_BYTES)], { type: "image/jpeg" }));
      if (closed || sequence < newest) return bitmap.close(); // two images decode in parallel and may finish out of order
      newest = sequence;
      this.#show(bitmap, header.getFloat32(4, true) + (performance.now() - received) / 1000);
      if (socket.readyState === WebSocket.OPEN) socket.send(""); // acknowledge
    };
    socket.onclose = ({ code, reason }) => {
      if (closed) return;
      if (!opened) this.#failures += 1;
      if (code === TOO_MANY_VIEWERS) this.#onError(reason);
      this.#retryLater();
    };
    return () => {
      closed = true;
      if (opened) socket.close();
      else socket.onopen = () => socket.close(); // closing a connecting socket logs an error
    };
  }

  #openMjpeg(id) {
    const onJpeg = async (jpeg) => this.#show(await createImageBitmap(jpeg), null);
    return this.#run((signal) => readMjpeg(`${sourcePath(id, "live.mjpg")}?view=both`, signal, onJpeg));
  }

  #openWebRtc(id) {
    const onImage = (bitmap) => this.#show(bitmap, null);
    return this.#run((signal) => watchWhep(`${sourcePath(id, "whep")}?view=both`, signal, onImage));
  }

  /** Runs `stream(signal)` and reconnects when it ends; returns a function that aborts it. */
  #run(stream) {
    const controller = new AbortController();
    stream(controller.signal)
      .then(() => "", (problem) => problem.message)
      .then((error) => {
        if (controller.signal.aborted) return;
        this.#onError(error);
        this.#retryLater();
      });
    return () => controller.abort();
  }

  #show(bitmap, age) {
    this.#retries = 0;
    this.#onError("");
    this.#onImage(bitmap, age);
  }

  #retryLater() {
    this.#timer = setTimeout(() => this.connect(), RETRY_MS[Math.min(this.#retries, RETRY_MS.length - 1)]);
    this.#retries += 1;
  }
}
