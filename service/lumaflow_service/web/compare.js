// Raw and enhanced image in one canvas: with a movable divider, side by side, or one of them.

const GAP_SHARE = 0.008;
const KEYS = { ArrowLeft: -2, ArrowDown: -2, ArrowRight: 2, ArrowUp: 2, PageDown: -10, PageUp: 10 };
const narrow = matchMedia("(max-width: 40rem)");

/** A bitmap with the raw image above the enhanced one. */
export function stacked(bitmap) {
  const height = bitmap.height / 2;
  return { before: bitmap, after: bitmap, afterTop: height, width: bitmap.width, height };
}

/** Two bitmaps of the same size. */
export function pair(before, after) {
  return { before, after, afterTop: 0, width: after.width, height: after.height };
}

export class Compare {
  #stage;
  #canvas;
  #slider;
  #image = null;
  #overlay = null;
  #region = null;
  #view = "divider";
  #drawRequest = 0;

  /** `stage` contains a canvas, and a range input for the divider. */
  constructor(stage) {
    this.#stage = stage;
    this.#canvas = stage.querySelector("canvas");
    this.#slider = stage.querySelector("input");
    this.#slider.addEventListener("input", () => this.#onSlide());
    this.#slider.addEventListener("keydown", (event) => this.#onKey(event));
    narrow.addEventListener("change", () => this.#requestDraw());
    this.#onSlide();
  }

  /** Shows an image of `stacked` or `pair`; null clears the canvas. */
  setImage(image) {
    for (const old of this.#bitmaps()) if (old !== image?.before && old !== image?.after) old.close();
    this.#image = image;
    this.#stage.classList.toggle("blank", !image);
    if (image) this.setAspectRatio(image);
    this.#requestDraw();
  }

  /** Reserves the layout space of an image of this size. */
  setAspectRatio({ width, height }) {
    const ratio = String(width / height);
    if (this.#stage.style.getPropertyValue("--ratio") !== ratio) this.#stage.style.setProperty("--ratio", ratio);
  }

  /** Selects "divider", "beside", "enhanced" or "raw". */
  setView(view) {
    this.#view = this.#stage.dataset.view = view;
    this.#slider.disabled = view !== "divider";
    this.#requestDraw();
  }

  /** Draws a bitmap over the enhanced image, with a composite operation and an alpha of 0..1; null removes it. */
  setOverlay(bitmap, operation, alpha) {
    this.#overlay?.bitmap.close();
    this.#overlay = bitmap && { bitmap, operation, alpha };
    this.#requestDraw();
  }

  /** Outlines a rectangle, in pixels of the frame; null outlines none. */
  setRegion(region) {
    this.#region = region;
  }

  #bitmaps() {
    return this.#image ? new Set([this.#image.before, this.#image.after]) : [];
  }

  #onSlide() {
    this.#stage.style.setProperty("--split", this.#slider.value / 100);
    this.#slider.ariaValueText = `${Math.round(this.#slider.value)} % raw`;
    this.#requestDraw();
  }

  #onKey(event) {
    const step = KEYS[event.key];
    if (!step) return;
    event.preventDefault();
    this.#slider.value = Number(this.#slider.value) + step;
    this.#onSlide();
  }

  #requestDraw() {
    if (!this.#drawRequest) this.#drawRequest = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.#drawRequest = 0;
    const context = this.#canvas.getContext("2d", { alpha: false });
    if (!this.#image) return context.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    const { width, height } = this.#image;
    const beside = this.#view === "beside";
    const gap = beside ? Math.ceil(width * GAP_SHARE) : 0;
    const [dx, dy] = !beside ? [0, 0] : narrow.matches ? [0, height + gap] : [width + gap, 0];
    resize(this.#canvas, width + dx, height + dy);
    const split = { divider: Math.round((width * this.#slider.value) / 100), raw: width, enhanced: 0 }[this.#view];
    this.#drawImage(context, "before", 0, beside ? width : split, 0, 0);
    this.#drawImage(context, "after", beside ? 0 : split, width, dx, dy);
    if (beside) this.#drawGap(context, width, height, dx, dy, gap);
  }

  /** Draws columns `from`..`to`, shifted by (dx, dy); the enhanced image with region and overlay. */
  #drawImage(context, which, from, to, dx, dy) {
    const { afterTop, height, width } = this.#image;
    if (to <= from) return;
    const top = which === "after" ? afterTop : 0;
    context.drawImage(this.#image[which], from, top, to - from, height, from + dx, dy, to - from, height);
    if (which === "before") return;
    context.save();
    context.beginPath();
    context.rect(from + dx, dy, to - from, height);
    context.clip();
    if (this.#region) this.#drawRegion(context, dx, dy, width);
    if (this.#overlay) {
      [context.globalCompositeOperation, context.globalAlpha] = [this.#overlay.operation, this.#overlay.alpha];
      context.drawImage(this.#overlay.bitmap, dx, dy, width, height);
    }
    context.restore();
  }

  #drawRegion(context, dx, dy, width) {
    const { x, y, width: regionWidth, height: regionHeight } = this.#region;
    context.lineWidth = Math.max(1, width / 480);
    context.setLineDash([context.lineWidth * 4, context.lineWidth * 3]);
    context.strokeStyle = getComputedStyle(this.#stage).getPropertyValue("--enhanced");
    context.strokeRect(x + dx, y + dy, regionWidth, regionHeight);
  }

  #drawGap(context, width, height, dx, dy, gap) {
    context.fillStyle = getComputedStyle(this.#stage).getPropertyValue("--background");
    context.fillRect(dx ? width : 0, dy ? height : 0, dx ? gap : width, dy ? gap : height);
  }
}

function resize(canvas, width, height) {
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
}
