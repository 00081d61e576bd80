// How a source stands, in words a person can act on.

const CAUSES = {
  refused: "its address refuses the connection",
  timeout: "it does not answer",
  auth: "it wants another user name or password",
  not_found: "it has nothing at this path",
  tls: "its certificate is not trusted",
  codec: "its video cannot be decoded",
  stalled: "it sends no frames",
  frozen: "it repeats one picture",
  eof: "it ended the connection",
  corrupt: "what it sends is damaged",
};
export const LOOKS_ONLY = "Your token may look, not change. Close this tab to give another.";
export const SENDS_NOT = "Your token may look, not send images. Close this tab to give another.";
const NO_CONNECTION = "no connection"; // begins a cause's own words where they say no more than ours
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** How long ago, in the largest unit that fits. */
export function ago(seconds) {
  return `${span(seconds)} ago`;
}

/** A length of time, in the largest unit that fits. */
export function span(seconds) {
  if (seconds < 0.995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}

/** Why a camera gives no picture, in a few words; "" for none that is known. */
export function reason({ camera }) {
  return CAUSES[camera?.cause] ?? "";
}

/** `state` for the eye (live, idle, warn, down, paused), `words` for a label, `trouble` for a sentence or "". */
export function standing(source) {
  const { camera } = source;
  if (!camera) return fed(source);
  if (camera.state === "paused") return { state: "paused", words: "Paused", trouble: "" };
  if (camera.state === "ended") return { state: "idle", words: "Ended", trouble: "" };
  if (camera.state === "connecting") return { state: "warn", words: "Connecting", trouble: "" };
  if (camera.cause === "frozen") return { state: "warn", words: "Frozen", trouble: sentence("The picture is frozen", camera) };
  if (camera.state === "live") return fed(source);
  return { state: "down", words: down(camera), trouble: sentence(`The camera is ${down(camera).toLowerCase()}`, camera) };
}

function fed(source) {
  if (source.state === "live") return { state: "live", words: "Live", trouble: "" };
  const last = source.age_seconds === null ? "No frame yet" : `Idle, last frame ${ago(source.age_seconds)}`;
  return { state: "idle", words: last, trouble: "" };
}

function down(camera) {
  if (!camera.captured_at) return "Down since it was added";
  const since = new Date(camera.captured_at * 1000);
  const date = since.toDateString() === new Date().toDateString() ? "" : `${day.format(since)} `;
  return `Down since ${date}${clock.format(since)}`;
}

function sentence(start, { cause, why }) {
  const known = CAUSES[cause] ?? "";
  const more = known && why.startsWith(NO_CONNECTION) ? "" : why;
  return `${start}${known && `: ${known}`}${more && ` (${more})`}. It is tried again by itself.`;
}
