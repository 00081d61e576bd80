// Live pictures of a source, raw above enhanced in one: over a WebSocket, as MJPEG where there is none, or by WebRTC.

import { sourcePath, token } from "./client.js";
import { motion } from "./motion.js";
import { whep } from "./whep.js";

const HEAD_BYTES = 8;
const WAITS_MS = [200, 400, 1000, 2000, 4000];
const MOST_FAILURES = 3; // connections in a row that never opened; then the network does not let them through
const TOO_MANY = 4429;

export class Live {
  #onPicture;
  #onTrouble;
  #id = null;
  #byPeer = false;
  #close = () => {};
  #failures = 0;
  #waits = 0;
  #timer = 0;

  /** Gives every picture to `onPicture(bitmap, ageSeconds or null)`, and words to `onTrouble`. */
  constructor({ onPicture, onTrouble }) {
    this.#onPicture = onPicture;
    this.#onTrouble = onTrouble;
    document.addEventListener("visibilitychange", () => this.connect());
  }

  /** Watches source `id`, or nothing for null. */
  watch(id) {
    if (id === this.#id) return;
    this.#id = id;
    this.connect();
  }

  /** Lets pictures come by "webrtc", or by "socket" as at first. */
  by(transport) {
    this.#byPeer = transport === "webrtc";
    this.renew();
  }

  /** Begins again, as if nothing had failed before: the service is back, or there is another token. */
  renew() {
    this.#failures = 0;
    this.connect();
  }

  /** Connects anew; leaves while nobody looks. */
  connect() {
    clearTimeout(this.#timer);
    this.#close();
    this.#close = () => {};
    if (this.#id === null || document.hidden) return;
    if (this.#byPeer) this.#close = this.#openPeer(this.#id);
    else this.#close = this.#failures < MOST_FAILURES ? this.#openSocket(this.#id) : this.#openMotion(this.#id);
  }

  #openSocket(id) {
    const address = new URL(`${sourcePath(id, "live")}?view=both`, document.baseURI);
    address.protocol = address.protocol.replace("http", "ws");
    const given = token.get();
    const socket = new WebSocket(address, ["lumaflow", ...(given ? [`bearer.${encodeURIComponent(given)}`] : [])]);
    socket.binaryType = "arraybuffer";
    let [opened, newest, over] = [false, -1, false];
    socket.onopen = () => ([opened, this.#failures] = [true, 0]);
    socket.onmessage = async ({ data }) => {
      const received = performance.now();
      const head = new DataView(data, 0, HEAD_BYTES);
      const number = head.getUint32(0, true);
      const bitmap = await createImageBitmap(new Blob([new Uint8Array(data, HEAD_BYTES)], { type: "image/jpeg" }));
      if (over || number < newest) return bitmap.close(); // two are decoded at once and may overtake
      newest = number;
      this.#show(bitmap, head.getFloat32(4, true) + (performance.now() - received) / 1000);
      if (socket.readyState === WebSocket.OPEN) socket.send(""); // ready for one more
    };
    socket.onclose = ({ code, reason }) => {
      if (over) return;
      if (!opened) this.#failures += 1;
      if (code === TOO_MANY) this.#onTrouble(reason);
      this.#again();
    };
    return () => {
      over = true;
      if (opened) socket.close();
      else socket.onopen = () => socket.close(); // one that still connects would complain
    };
  }

  #openMotion(id) {
    const show = async (jpeg) => this.#show(await createImageBitmap(jpeg), null);
    return this.#follow((signal) => motion(`${sourcePath(id, "live.mjpg")}?view=both`, signal, show));
  }

  #openPeer(id) {
    const show = (bitmap) => this.#show(bitmap, null);
    return this.#follow((signal) => whep(`${sourcePath(id, "whep")}?view=both`, signal, show));
  }

  /** Follows `flow(signal)`, and connects again when it ends by itself. */
  #follow(flow) {
    const leaving = new AbortController();
    flow(leaving.signal)
      .then(() => "", (problem) => problem.message)
      .then((trouble) => {
        if (leaving.signal.aborted) return;
        this.#onTrouble(trouble);
        this.#again();
      });
    return () => leaving.abort();
  }

  #show(bitmap, age) {
    this.#waits = 0;
    this.#onTrouble("");
    this.#onPicture(bitmap, age);
  }

  #again() {
    this.#timer = setTimeout(() => this.connect(), WAITS_MS[Math.min(this.#waits, WAITS_MS.length - 1)]);
    this.#waits += 1;
  }
}
