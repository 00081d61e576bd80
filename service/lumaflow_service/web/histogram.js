// The brightness of a frame before and after, and the mapping between the two.

const INSET = 1;
const AXIS_PX = 6;

export class Histogram {
  #canvas;
  #before;
  #after;
  #last = null;

  /** Draws on `canvas`; the mean levels go into `before` and `after`. */
  constructor({ canvas, before, after }) {
    this.#canvas = canvas;
    this.#before = before;
    this.#after = after;
    new ResizeObserver(() => this.#draw()).observe(canvas);
  }

  /** Shows the answer of `/histogram`, or clears with null. */
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
    const zoom = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16; // lines grow with the text
    const [width, height] = [clientWidth / zoom, clientHeight / zoom];
    const pen = this.#canvas.getContext("2d");
    pen.scale(zoom * window.devicePixelRatio, zoom * window.devicePixelRatio);
    const ink = getComputedStyle(this.#canvas);
    axis(pen, width, height);
    if (!this.#last) return;
    const plot = { pen, width, height: height - AXIS_PX - 3 };
    area(plot, this.#last.before, ink.getPropertyValue("--raw"));
    area(plot, this.#last.after, ink.getPropertyValue("--enhanced"));
    curve(plot, this.#last.mapping, ink.getPropertyValue("--text"));
  }
}

function mean(bins) {
  const pixels = bins.reduce((sum, count) => sum + count, 0);
  return Math.round(bins.reduce((sum, count, level) => sum + count * level, 0) / Math.max(pixels, 1));
}

function axis(pen, width, height) {
  const ramp = pen.createLinearGradient(0, 0, width, 0);
  ramp.addColorStop(0, "#000");
  ramp.addColorStop(1, "#fff");
  pen.fillStyle = ramp;
  pen.fillRect(0, height - AXIS_PX, width, AXIS_PX);
}

// Counts are drawn by their square root: a dark frame has a few towering bins and a long low tail.
function area({ pen, width, height }, bins, color) {
  const top = Math.sqrt(Math.max(...bins, 1));
  pen.beginPath();
  pen.moveTo(0, height);
  bins.forEach((count, level) => {
    const y = height - (Math.sqrt(count) / top) * (height - INSET);
    pen.lineTo((level / 256) * width, y);
    pen.lineTo(((level + 1) / 256) * width, y);
  });
  pen.lineTo(width, height);
  pen.closePath();
  pen.globalAlpha = 0.42;
  pen.fillStyle = color;
  pen.fill();
  pen.globalAlpha = 1;
  pen.strokeStyle = color;
  pen.stroke();
}

function curve({ pen, width, height }, mapping, color) {
  if (!mapping) return;
  pen.beginPath();
  mapping.forEach((out, level) => pen.lineTo(((level + 0.5) / 256) * width, height - (out / 255) * (height - INSET)));
  pen.lineWidth = 1.5;
  pen.setLineDash([5, 4]);
  pen.strokeStyle = color;
  pen.stroke();
  pen.setLineDash([]);
}
