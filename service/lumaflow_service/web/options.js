// Form fields created from the JSON schema of the service; options unknown to this file get a default field.

const ADAPTIVE = ["auto", "lowlight", "dehaze"];
const FIELDS = {
  preset: {
    label: "Scene",
    segments: true,
    choices: { auto: "Automatic", night: "Night", backlight: "Backlight", fog: "Fog", industrial: "Industrial", document: "Document", off: "Off" },
    help: {
      auto: "Dark, flat and hazy pictures are improved; good pictures are not changed.",
      night: "Dark pictures are brightened, and their noise is filtered.",
      backlight: "Dark parts before a bright window or sky are brightened.",
      fog: "Haze is removed.",
      industrial: "Local contrast for evenly lit scenes.",
      document: "Dark ink on white paper.",
      off: "The picture is not changed.",
      none: "Your own options, below.",
    },
  },
  mode: {
    label: "Mode",
    segments: true,
    choices: { auto: "Auto", lowlight: "Low light", dehaze: "Dehaze", clahe: "CLAHE", clipped: "Clipped", equalize: "Equalize", stretch: "Stretch", identity: "Off" },
    help: {
      auto: "Chosen for each frame: low light, dehaze, stretch, or unchanged.",
      lowlight: "Dark frames are brightened without halos, and their noise is filtered.",
      dehaze: "Haze is removed.",
      clahe: "Local contrast with a limit.",
      clipped: "One LUT for the whole frame, with limited contrast.",
      equalize: "One LUT for the whole frame, without a limit.",
      stretch: "Levels are scaled linearly between the darkest and the brightest one.",
      identity: "The frame is not changed.",
    },
  },
  clip_limit: { label: "Clip limit", max: 10, step: 0.1, help: "Lower values change less; 0 disables clipping.", when: ({ mode }) => mode === "clahe" || mode === "clipped" },
  tiles: { label: "Tiles", help: "For CLAHE and the heat map.", choices: tiles("2x2", "4x4", "8x8", "16x16", "32x32"), when: ({ mode, features }) => mode === "clahe" || features?.includes("heatmap") },
  color: { label: "LUT input for colour", choices: { value: "brightest channel", luma: "luma" } },
  strength: { label: "Strength", step: 0.05, when: ({ mode }) => ADAPTIVE.includes(mode) },
  target: { label: "Target level", unset: "automatic", initial: 90, step: 1, help: "Mean level of the darker half.", when: ({ mode }) => mode === "auto" || mode === "lowlight" },
  denoise: { label: "Filter noise", when: ({ mode }) => mode === "auto" || mode === "lowlight" },
  smoothing: { label: "LUT smoothing over time", min: 0.05, step: 0.05, help: "Weight of each frame; 1 disables smoothing.", when: hasLut },
  gate: { label: "Change good frames less", when: hasLut },
  chroma_gain: { label: "Chroma gain of YUV frames", max: 4, step: 0.1 },
  output: { label: "Output bit depth", choices: { same: "as the input", display: "8 bits, for display" } },
  orientation: {
    label: "Orientation",
    choices: { none: "unchanged", rotate90: "90° clockwise", rotate180: "180°", rotate270: "90° counterclockwise", flip_x: "flip horizontally", flip_y: "flip vertically", transpose: "transpose" },
  },
  clamp: { label: "Clamp values beyond the depth" },
  features: { label: "Extract", choices: { hog: "HOG", lbp: "LBP", histogram: "Histogram", heatmap: "Heat map" } },
  hog_layout: { label: "HOG", choices: { opencv: "blocks, as in OpenCV", compact: "cells" } },
  lbp_mapping: { label: "LBP patterns", choices: { raw: "all 256", uniform: "uniform", riu2: "uniform, rotation invariant", ror: "rotation invariant" } },
  lbp_neighborhood: { label: "LBP neighbours", choices: { square: "square", circle: "circle" } },
  region: { label: "Histogram from a region" },
};
let nextId = 0;

/** The form fields of these options by name: `element`, `read()`, `write(value)`, and `when(options)`, true if it applies. */
export function fields(schema, names) {
  return new Map(names.map((name) => [name, field(name, resolve(schema, schema.properties[name]), isNullable(schema.properties[name]))]));
}

function hasLut({ mode }) {
  return mode !== "identity" && !ADAPTIVE.includes(mode);
}

function isNullable({ anyOf }) {
  return Boolean(anyOf?.some(({ type }) => type === "null"));
}

function field(name, schema, nullable) {
  const field = { label: labelOf(name), ...FIELDS[name] };
  const create = fieldType(schema, field, nullable);
  return { when: () => true, ...field, ...create(name, schema, field) };
}

function fieldType(schema, field, nullable) {
  if (schema.properties) return region;
  if (schema.type === "array") return checkboxGroup;
  if (schema.type === "boolean") return toggle;
  if (schema.type === "number" || schema.type === "integer") return nullable ? optionalSlider : slider;
  return field.segments ? segments : select;
}

function resolve(schema, part) {
  const inner = part.$ref ? { $ref: part.$ref } : (part.anyOf ?? part.allOf)?.find(({ type }) => type !== "null");
  if (inner?.$ref) return resolve(schema, schema.$defs[inner.$ref.split("/").pop()]);
  if (part.items) return { ...part, items: resolve(schema, part.items) };
  return inner ?? part;
}

function segments(name, { enum: values }, { label, choices, help }) {
  const group = element("fieldset", { className: "choices wide wrap" }, element("legend", { textContent: label }));
  const hint = element("p", { className: "muted" });
  const groupName = `${name}-${(nextId += 1)}`; // unique: two forms of one page must not share a radio group
  for (const value of sortedValues(values, choices)) {
    const input = element("input", { type: "radio", name: groupName, value });
    input.dataset.option = name;
    group.append(element("label", {}, input, element("span", { textContent: choices[value] ?? labelOf(value) })));
  }
  const read = () => group.querySelector(":checked")?.value ?? null;
  const updateHint = () => (hint.textContent = help[read() ?? "none"] ?? "");
  group.addEventListener("input", updateHint);
  updateHint();
  const write = (value) => {
    for (const input of group.querySelectorAll("input")) input.checked = input.value === value;
    updateHint();
  };
  return { element: element("div", { className: "segments" }, group, hint), read, write };
}

function select(name, { enum: values }, { label, choices = {}, help }) {
  const box = element("select", { id: `${name}-${(nextId += 1)}`, name });
  for (const value of sortedValues(values ?? [], choices)) box.add(new Option(choices[value] ?? labelOf(value), value));
  const write = (value) => {
    box.value = value;
    if (box.value !== value) box.add(new Option(value.replace("x", " × "), value, true, true));
  };
  return { element: withHelp(row(label, box), box, help), read: () => box.value, write };
}

function slider(name, { minimum = 0, maximum }, { label, min = minimum, max = maximum ?? 100, step = 0.1, help }) {
  const input = element("input", { id: `${name}-${(nextId += 1)}`, name, type: "range", min, max, step });
  const output = element("output", { htmlFor: input.id });
  const updateOutput = () => (output.textContent = Number(input.value).toFixed(step < 0.1 ? 2 : step < 1 ? 1 : 0));
  input.addEventListener("input", updateOutput);
  const write = (value) => {
    if (value > input.max) input.max = value;
    input.value = value;
    updateOutput();
  };
  const body = row(label, input);
  body.insertBefore(output, input);
  return { element: withHelp(body, input, help), read: () => Number(input.value), write };
}

/** A slider that a checkbox replaces by null. */
function optionalSlider(name, schema, field) {
  const { label, unset = "not set", initial = schema.minimum ?? 0 } = field;
  const off = element("input", { type: "checkbox", name });
  const inner = slider(name, schema, field);
  const body = element("div", {}, element("label", { className: "toggle" }, off, element("span", { textContent: `${label}: ${unset}` })), inner.element);
  const update = () => (inner.element.hidden = off.checked);
  off.addEventListener("input", update);
  const write = (value) => {
    off.checked = value === null;
    inner.write(value ?? initial);
    update();
  };
  return { element: body, read: () => (off.checked ? null : inner.read()), write };
}

function toggle(name, _schema, { label }) {
  const input = element("input", { type: "checkbox", name });
  const body = element("label", { className: "toggle" }, input, element("span", { textContent: label }));
  return { element: body, read: () => input.checked, write: (value) => (input.checked = value) };
}

function checkboxGroup(name, { items }, { label, choices }) {
  const inputs = items.enum.map((value) => element("input", { type: "checkbox", name, value }));
  const labels = inputs.map((input) =>
    element("label", { className: "toggle" }, input, element("span", { textContent: choices[input.value] ?? labelOf(input.value) })),
  );
  const body = element("fieldset", { className: "checkbox-group" }, element("legend", { textContent: label }), ...labels);
  const read = () => inputs.filter((input) => input.checked).map((input) => input.value);
  const write = (value) => inputs.forEach((input) => (input.checked = value.includes(input.value)));
  return { element: body, read, write };
}

function region(name, { properties }, { label }) {
  const on = element("input", { type: "checkbox", name });
  const inputs = Object.entries(properties).map(([key, { type, minimum, maximum }]) =>
    element("input", type === "boolean" ? { type: "checkbox", name: key } : { type: "number", name: key, min: minimum, max: maximum, inputMode: "numeric" }),
  );
  const labels = inputs.map((input) => element("label", {}, element("span", { textContent: labelOf(input.name) }), input));
  const numbers = element("div", { className: "region", hidden: true }, ...labels);
  const body = element("div", {}, element("label", { className: "toggle" }, on, element("span", { textContent: label })), numbers);
  const show = (value) => {
    for (const input of inputs) input.type === "checkbox" ? (input.checked = value[input.name]) : (input.value = value[input.name]);
  };
  let frame = null;
  on.addEventListener("input", () => {
    numbers.hidden = !on.checked;
    if (on.checked && frame) show(centerRegion(frame));
  });
  const read = () => (on.checked ? Object.fromEntries(inputs.map((input) => [input.name, input.type === "checkbox" ? input.checked : Number(input.value)])) : null);
  const write = (value, geometry) => {
    frame = geometry ?? frame;
    on.checked = Boolean(value);
    numbers.hidden = !value;
    if (value && !numbers.contains(document.activeElement)) show(value);
  };
  return { element: body, read, write };
}

function centerRegion({ width, height }) {
  return { x: width >> 2, y: height >> 2, width: width >> 1, height: height >> 1, everywhere: true };
}

/** The values in the order of `choices`, then the others. */
function sortedValues(values, choices) {
  return [...new Set([...Object.keys(choices).filter((value) => !values.length || values.includes(value)), ...values])];
}

function row(label, input) {
  return element("div", { className: "field" }, element("label", { htmlFor: input.id, textContent: label }), input);
}

/** A row with a help text below it, if there is one. */
function withHelp(body, input, help) {
  if (!help) return body;
  const text = element("small", { id: `${input.id}-help`, className: "muted", textContent: help });
  input.setAttribute("aria-describedby", text.id);
  body.append(text);
  return body;
}

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function labelOf(name) {
  const words = name.replaceAll("_", " ");
  return words[0].toUpperCase() + words.slice(1);
}

function tiles(...grids) {
  return Object.fromEntries(grids.map((grid) => [grid, grid.replace("x", " × ")]));
}
