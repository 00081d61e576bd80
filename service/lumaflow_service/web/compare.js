// Before and after in one canvas: a divider that can be dragged, side by side, or one of them alone.

const GAP_SHARE = 0.008;
const KEYS = { ArrowLeft: -2, ArrowDown: -2, ArrowRight: 2, ArrowUp: 2, PageDown: -10, PageUp: 10 };
const narrow = matchMedia("(max-width: 40rem)");

/** A live picture: raw above, enhanced below, in one bitmap. */
export function stacked(bitmap) {
  const height = bitmap.height / 2;
  return { before: bitmap, after: bitmap, below: height, width: bitmap.width, height };
}

/** Two pictures of the same size. */
export function pair(before, after) {
  return { before, after, below: 0, width: after.width, height: after.height };
}

export class Compare {
  #stage;
  #canvas;
  #slider;
  #picture = null;
  #overlay = null;
  #region = null;
  #view = "divider";
  #drawing = 0;

  /** `stage` holds a canvas, a range input that is the divider, and tags. */
  constructor(stage) {
    this.#stage = stage;
    this.#canvas = stage.querySelector("canvas");
    this.#slider = stage.querySelector("input");
    this.#slider.addEventListener("input", () => this.#slide());
    this.#slider.addEventListener("keydown", (event) => this.#key(event));
    narrow.addEventListener("change", () => this.#soon());
    this.#slide();
  }

  /** Shows a picture of `stacked` or `pair`; null clears. */
  show(picture) {
    for (const old of this.#bitmaps()) if (old !== picture?.before && old !== picture?.after) old.close();
    this.#picture = picture;
    this.#stage.classList.toggle("blank", !picture);
    if (picture) this.shape(picture);
    this.#soon();
  }

  /** Takes the room that a picture of this width and height will need. */
  shape({ width, height }) {
    const ratio = String(width / height);
    if (this.#stage.style.getPropertyValue("--ratio") !== ratio) this.#stage.style.setProperty("--ratio", ratio);
  }

  /** Changes between "divider", "beside", "enhanced" and "raw". */
  look(view) {
    this.#view = this.#stage.dataset.view = view;
    this.#slider.disabled = view !== "divider";
    this.#soon();
  }

  /** Lays a bitmap over what is enhanced, with `blend` and `strength` 0..1; null takes it away. */
  cover(bitmap, blend, strength) {
    this.#overlay?.bitmap.close();
    this.#overlay = bitmap && { bitmap, blend, strength };
    this.#soon();
  }

  /** Marks a rectangle in pixels of the frame; null marks none. */
  mark(region) {
    this.#region = region;
  }

  #bitmaps() {
    return this.#picture ? new Set([this.#picture.before, this.#picture.after]) : [];
  }

  #slide() {
    this.#stage.style.setProperty("--split", this.#slider.value / 100);
    this.#slider.ariaValueText = `${Math.round(this.#slider.value)} % raw`;
    this.#soon();
  }

  #key(event) {
    const step = KEYS[event.key];
    if (!step) return;
    event.preventDefault();
    this.#slider.value = Number(this.#slider.value) + step;
    this.#slide();
  }

  #soon() {
    if (!this.#drawing) this.#drawing = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.#drawing = 0;
    const pen = this.#canvas.getContext("2d", { alpha: false });
    if (!this.#picture) return pen.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    const { width, height } = this.#picture;
    const beside = this.#view === "beside";
    const gap = beside ? Math.ceil(width * GAP_SHARE) : 0;
    const [dx, dy] = !beside ? [0, 0] : narrow.matches ? [0, height + gap] : [width + gap, 0];
    size(this.#canvas, width + dx, height + dy);
    const split = { divider: Math.round((width * this.#slider.value) / 100), raw: width, enhanced: 0 }[this.#view];
    this.#part(pen, "before", 0, beside ? width : split, 0, 0);
    this.#part(pen, "after", beside ? 0 : split, width, dx, dy);
    if (beside) this.#bar(pen, width, height, dx, dy, gap);
  }

  /** Draws columns `from`..`to` of a picture, moved by (dx, dy); what is enhanced with what lies over it. */
  #part(pen, which, from, to, dx, dy) {
    const { below, height, width } = this.#picture;
    if (to <= from) return;
    const top = which === "after" ? below : 0;
    pen.drawImage(this.#picture[which], from, top, to - from, height, from + dx, dy, to - from, height);
    if (which === "before") return;
    pen.save();
    pen.beginPath();
    pen.rect(from + dx, dy, to - from, height);
    pen.clip();
    if (this.#region) this.#frame(pen, dx, dy, width);
    if (this.#overlay) {
      [pen.globalCompositeOperation, pen.globalAlpha] = [this.#overlay.blend, this.#overlay.strength];
      pen.drawImage(this.#overlay.bitmap, dx, dy, width, height);
    }
    pen.restore();
  }

  #frame(pen, dx, dy, width) {
    const { x, y, width: across, height: down } = this.#region;
    pen.lineWidth = Math.max(1, width / 480);
    pen.setLineDash([pen.lineWidth * 4, pen.lineWidth * 3]);
    pen.strokeStyle = getComputedStyle(this.#stage).getPropertyValue("--enhanced");
    pen.strokeRect(x + dx, y + dy, across, down);
  }

  #bar(pen, width, height, dx, dy, gap) {
    pen.fillStyle = getComputedStyle(this.#stage).getPropertyValue("--ground");
    pen.fillRect(dx ? width : 0, dy ? height : 0, dx ? gap : width, dy ? gap : height);
  }
}

function size(canvas, width, height) {
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
}
