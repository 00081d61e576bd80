// The status of a source as text, and texts that several modules share.

const CAUSES = {
  refused: "the connection was refused",
  timeout: "the camera does not respond",
  auth: "the user name or password is wrong",
  not_found: "the path does not exist on the camera",
  tls: "the certificate is not trusted",
  codec: "the video cannot be decoded",
  stalled: "the camera sends no frames",
  frozen: "the camera repeats one frame",
  eof: "the camera ended the connection",
  corrupt: "the received video is damaged",
};
export const READ_ONLY = "This token is read-only. To use another token, close this tab and open the page again.";
export const CANNOT_SEND = "This token cannot send images. To use another token, close this tab and open the page again.";
const NO_CONNECTION = "no connection"; // prefix of a detail that adds nothing to the text of its cause
const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** A duration in its largest suitable unit. */
export function duration(seconds) {
  if (seconds < 0.995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}

/** Why a camera has no picture, in a few words; "" if unknown. */
export function causeText({ camera }) {
  return CAUSES[camera?.cause] ?? "";
}

/** `state` for styling (live, idle, warn, down, paused), a short `label`, and `message`, a sentence or "". */
export function statusOf(source) {
  const { camera } = source;
  if (!camera) return frameStatus(source);
  if (camera.state === "paused") return { state: "paused", label: "Paused", message: "" };
  if (camera.state === "ended") return { state: "idle", label: "Ended", message: "" };
  if (camera.state === "connecting") return { state: "warn", label: "Connecting", message: "" };
  if (camera.cause === "frozen") return { state: "warn", label: "Frozen", message: failureMessage("The video is frozen", camera) };
  if (camera.state === "live") return frameStatus(source);
  const label = downLabel(camera);
  return { state: "down", label, message: failureMessage(`The camera is ${label.toLowerCase()}`, camera) };
}

function frameStatus(source) {
  if (source.state === "live") return { state: "live", label: "Live", message: "" };
  const label = source.age_seconds === null ? "No frame yet" : `Idle, last frame ${duration(source.age_seconds)} ago`;
  return { state: "idle", label, message: "" };
}

function downLabel(camera) {
  if (!camera.captured_at) return "Down since it was added";
  const since = new Date(camera.captured_at * 1000);
  const date = since.toDateString() === new Date().toDateString() ? "" : `${day.format(since)} `;
  return `Down since ${date}${time.format(since)}`;
}

function failureMessage(start, { cause, why }) {
  const known = CAUSES[cause] ?? "";
  const detail = known && why.startsWith(NO_CONNECTION) ? "" : why;
  return `${start}${known && `: ${known}`}${detail && ` (${detail})`}. The service retries automatically.`;
}
