// The effect of the modes auto, lowlight and dehaze on the last frame, as a sentence.

const TEXTS = {
  bypass: () => "Good picture: not changed",
  stretch: () => "Low contrast: levels stretched",
  lowlight: ({ gain }) => `Dark picture: brightened ${times(gain)}`,
  dehaze: ({ haze }) => `Hazy picture: ${Math.round(haze * 100)} % of the haze removed`,
};
const MIN_HAZE = 0.1;
const MIN_GAIN = 1.3;

/** The sentence of a tone; "" for null, which the other modes have. */
export function toneText(tone) {
  if (!tone) return "";
  const parts = [TEXTS[tone.mode]?.(tone) ?? tone.reason];
  if (tone.mode === "dehaze" && tone.gain >= MIN_GAIN) parts.push(`brightened ${times(tone.gain)}`);
  if (tone.mode !== "dehaze" && tone.haze >= MIN_HAZE) parts.push("haze removed");
  if (tone.denoised) parts.push("noise filtered");
  return `${parts.join(", ")}.`;
}

/** Shows the sentence in `element`, with the measured figures as its tooltip. */
export function showTone(element, tone) {
  const text = toneText(tone);
  if (element.textContent !== text) element.textContent = text;
  element.dataset.mode = tone?.mode ?? "";
  element.title = tone?.reason ?? "";
}

function times(gain) {
  return `${gain < 3 ? gain.toFixed(1) : Math.round(gain)} times`;
}
