// A form of options, built from the schema that the service gives: what it adds one day shows up by itself.

const KNOWN = {
  mode: {
    label: "Mode",
    segments: true,
    choices: { clahe: "CLAHE", clipped: "Clipped", equalize: "Equalize", stretch: "Stretch", identity: "Off" },
    words: {
      clahe: "Contrast by regions, limited: the best start for most cameras.",
      clipped: "One curve for the whole frame, its contrast limited.",
      equalize: "One curve for the whole frame, at full strength.",
      stretch: "Levels spread in a straight line between the darkest and the brightest.",
      identity: "The frame passes unchanged.",
    },
  },
  clip_limit: { label: "Clip limit", most: 10, step: 0.1, help: "Lower is gentler; 0 clips nothing.", when: ({ mode }) => mode === "clahe" || mode === "clipped" },
  tiles: { label: "Tiles", help: "Of CLAHE, and of the heat map.", choices: tiles("2x2", "4x4", "8x8", "16x16", "32x32"), when: ({ mode, features }) => mode === "clahe" || features?.includes("heatmap") },
  color: { label: "Colour acts on", choices: { value: "brightest channel", luma: "luma" } },
  chroma_gain: { label: "Chroma of YUV frames", most: 4, step: 0.1 },
  output: { label: "Depth of deep frames", choices: { same: "as it came", display: "8 bits, for a screen" } },
  orientation: {
    label: "Turn",
    choices: { none: "as it is", rotate90: "a quarter right", rotate180: "upside down", rotate270: "a quarter left", flip_x: "mirrored", flip_y: "flipped", transpose: "rows to columns" },
  },
  clamp: { label: "Clamp values beyond the depth" },
  features: { label: "Extract", choices: { hog: "HOG", lbp: "LBP", histogram: "Histogram", heatmap: "Heat map" } },
  hog_layout: { label: "HOG", choices: { opencv: "blocks, as OpenCV", compact: "plain cells" } },
  lbp_mapping: { label: "LBP patterns", choices: { raw: "all 256", uniform: "uniform", riu2: "uniform, turned alike", ror: "turned alike" } },
  lbp_neighborhood: { label: "LBP neighbours", choices: { square: "on a square", circle: "on a circle" } },
  region: { label: "Map by a region" },
};
let serial = 0;

/** The fields of a form for these options, by name: `element`, `read()`, `write(value)`, `when(options)`. */
export function fields(schema, names) {
  return new Map(names.map((name) => [name, field(name, resolved(schema, schema.properties[name]))]));
}

function field(name, schema) {
  const known = { label: spoken(name), ...KNOWN[name] };
  const make = maker(schema, known);
  return { when: () => true, ...known, ...make(name, schema, known) };
}

function maker(schema, known) {
  if (schema.properties) return region;
  if (schema.type === "array") return several;
  if (schema.type === "boolean") return toggle;
  if (schema.type === "number" || schema.type === "integer") return slider;
  return known.segments ? segments : select;
}

function resolved(schema, part) {
  const inner = part.$ref ? { $ref: part.$ref } : (part.anyOf ?? part.allOf)?.find(({ type }) => type !== "null");
  if (inner?.$ref) return resolved(schema, schema.$defs[inner.$ref.split("/").pop()]);
  if (part.items) return { ...part, items: resolved(schema, part.items) };
  return inner ?? part;
}

function segments(name, { enum: values }, { label, choices, words }) {
  const group = element("fieldset", { className: "choices wide" }, element("legend", { textContent: label }));
  const hint = element("p", { className: "muted" });
  const alone = `${name}-${(serial += 1)}`; // two forms of one page must not share a radio group
  for (const value of ordered(values, choices)) {
    const input = element("input", { type: "radio", name: alone, value });
    input.dataset.option = name;
    group.append(element("label", {}, input, element("span", { textContent: choices[value] ?? spoken(value) })));
  }
  const read = () => group.querySelector(":checked")?.value;
  const dress = () => (hint.textContent = words[read()] ?? "");
  group.addEventListener("input", dress);
  const write = (value) => {
    for (const input of group.querySelectorAll("input")) input.checked = input.value === value;
    dress();
  };
  return { element: element("div", { className: "segments" }, group, hint), read, write };
}

function select(name, { enum: values }, { label, choices = {}, help }) {
  const box = element("select", { id: `${name}-${(serial += 1)}`, name });
  for (const value of ordered(values ?? [], choices)) box.add(new Option(choices[value] ?? spoken(value), value));
  const write = (value) => {
    box.value = value;
    if (box.value !== value) box.add(new Option(value.replace("x", " × "), value, true, true));
  };
  return { element: explained(row(label, box), box, help), read: () => box.value, write };
}

function slider(name, { minimum = 0, maximum }, { label, most = maximum ?? 100, step = 0.1, help }) {
  const input = element("input", { id: `${name}-${(serial += 1)}`, name, type: "range", min: minimum, max: most, step });
  const shown = element("output", { htmlFor: input.id });
  const dress = () => (shown.textContent = Number(input.value).toFixed(step < 1 ? 1 : 0));
  input.addEventListener("input", dress);
  const write = (value) => {
    if (value > input.max) input.max = value;
    input.value = value;
    dress();
  };
  const body = row(label, input);
  body.insertBefore(shown, input);
  return { element: explained(body, input, help), read: () => Number(input.value), write };
}

function toggle(name, _schema, { label }) {
  const input = element("input", { type: "checkbox", name });
  const body = element("label", { className: "toggle" }, input, element("span", { textContent: label }));
  return { element: body, read: () => input.checked, write: (value) => (input.checked = value) };
}

function several(name, { items }, { label, choices }) {
  const inputs = items.enum.map((value) => element("input", { type: "checkbox", name, value }));
  const labels = inputs.map((input) =>
    element("label", { className: "toggle" }, input, element("span", { textContent: choices[input.value] ?? spoken(input.value) })),
  );
  const body = element("fieldset", { className: "several" }, element("legend", { textContent: label }), ...labels);
  const read = () => inputs.filter((input) => input.checked).map((input) => input.value);
  const write = (value) => inputs.forEach((input) => (input.checked = value.includes(input.value)));
  return { element: body, read, write };
}

function region(name, { properties }, { label }) {
  const on = element("input", { type: "checkbox", name });
  const inputs = Object.entries(properties).map(([key, { type, minimum, maximum }]) =>
    element("input", type === "boolean" ? { type: "checkbox", name: key } : { type: "number", name: key, min: minimum, max: maximum, inputMode: "numeric" }),
  );
  const labels = inputs.map((input) => element("label", {}, element("span", { textContent: spoken(input.name) }), input));
  const numbers = element("div", { className: "region", hidden: true }, ...labels);
  const body = element("div", {}, element("label", { className: "toggle" }, on, element("span", { textContent: label })), numbers);
  const show = (value) => {
    for (const input of inputs) input.type === "checkbox" ? (input.checked = value[input.name]) : (input.value = value[input.name]);
  };
  let frame = null;
  on.addEventListener("input", () => {
    numbers.hidden = !on.checked;
    if (on.checked && frame) show(middle(frame));
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

function middle({ width, height }) {
  return { x: width >> 2, y: height >> 2, width: width >> 1, height: height >> 1, everywhere: true };
}

/** Those we have words for first, in the order of the words. */
function ordered(values, choices) {
  return [...new Set([...Object.keys(choices).filter((value) => !values.length || values.includes(value)), ...values])];
}

function row(label, input) {
  return element("div", { className: "field" }, element("label", { htmlFor: input.id, textContent: label }), input);
}

/** A row with words of help under it, if there are any. */
function explained(body, input, help) {
  if (!help) return body;
  const words = element("small", { id: `${input.id}-words`, className: "muted", textContent: help });
  input.setAttribute("aria-describedby", words.id);
  body.append(words);
  return body;
}

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function spoken(name) {
  const words = name.replaceAll("_", " ");
  return words[0].toUpperCase() + words.slice(1);
}

function tiles(...grids) {
  return Object.fromEntries(grids.map((grid) => [grid, grid.replace("x", " × ")]));
}
