// The brightness histograms of the raw and the enhanced frame, and the LUT between them.

const INSET = 1;
const AXIS_PX = 6;

export class Histogram {
  #canvas;
  #before;
  #after;
  #last = null;

  /** Draws on `canvas`; the mean levels are written into `before` and `after`. */
  constructor({ canvas, before, after }) {
    this.#canvas = canvas;
    this.#before = before;
    this.#after = after;
    new ResizeObserver(() => this.#draw()).observe(canvas);
  }

  /** Shows the response of `/histogram`; null clears the canvas. */
  show(histogram) {
    this.#last = histogram;
    const [before, after] = histogram ? [mean(histogram.before), mean(histogram.after)] : [null, null];
    this.#before.textContent = before === null ? "" : `· mean ${before}`;
    this.#after.textContent = after === null ? "" : `· mean ${after}`;
    this.#canvas.ariaLabel = histogram
      ? `Histogram of brightness from 0 to 255: mean ${before} raw, ${after} enhanced`
      : "No histogram yet";
    this.#draw();
  }

  #draw() {
    const { clientWidth, clientHeight } = this.#canvas;
    this.#canvas.width = Math.round(clientWidth * window.devicePixelRatio);
    this.#canvas.height = Math.round(clientHeight * window.devicePixelRatio);
    const zoom = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16; // lines scale with the text size
    const [width, height] = [clientWidth / zoom, clientHeight / zoom];
    const context = this.#canvas.getContext("2d");
    context.scale(zoom * window.devicePixelRatio, zoom * window.devicePixelRatio);
    const style = getComputedStyle(this.#canvas);
    axis(context, width, height);
    if (!this.#last) return;
    const plot = { context, width, height: height - AXIS_PX - 3 };
    area(plot, this.#last.before, style.getPropertyValue("--raw"));
    area(plot, this.#last.after, style.getPropertyValue("--enhanced"));
    curve(plot, this.#last.mapping, style.getPropertyValue("--text"));
  }
}

function mean(bins) {
  const pixels = bins.reduce((sum, count) => sum + count, 0);
  return Math.round(bins.reduce((sum, count, level) => sum + count * level, 0) / Math.max(pixels, 1));
}

function axis(context, width, height) {
  const ramp = context.createLinearGradient(0, 0, width, 0);
  ramp.addColorStop(0, "#000");
  ramp.addColorStop(1, "#fff");
  context.fillStyle = ramp;
  context.fillRect(0, height - AXIS_PX, width, AXIS_PX);
}

// The y axis is the square root of the count: a dark frame has a few very high bins.
function area({ context, width, height }, bins, color) {
  const top = Math.sqrt(Math.max(...bins, 1));
  context.beginPath();
  context.moveTo(0, height);
  bins.forEach((count, level) => {
    const y = height - (Math.sqrt(count) / top) * (height - INSET);
    context.lineTo((level / 256) * width, y);
    context.lineTo(((level + 1) / 256) * width, y);
  });
  context.lineTo(width, height);
  context.closePath();
  context.globalAlpha = 0.42;
  context.fillStyle = color;
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = color;
  context.stroke();
}

function curve({ context, width, height }, mapping, color) {
  if (!mapping) return;
  context.beginPath();
  mapping.forEach((out, level) => context.lineTo(((level + 0.5) / 256) * width, height - (out / 255) * (height - INSET)));
  context.lineWidth = 1.5;
  context.setLineDash([5, 4]);
  context.strokeStyle = color;
  context.stroke();
  context.setLineDash([]);
}
