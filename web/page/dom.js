// Small helpers for elements, numbers and colours.
export const byId = (id) => document.getElementById(id);

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) key === 'class' ? (made.className = value) : made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export const short = (value, digits = 5) => (value === null || value === undefined ? '' : Number.isInteger(value) ? String(value) : Number(value.toPrecision(digits)).toString());
export const percent = (share) => `${(100 * share).toFixed(1)} %`;

export function showError(id, error) {
  const at = byId(id);
  at.hidden = error === null;
  at.textContent = error === null ? '' : error.message ?? String(error);
}

let palette = null;
export function colours() {
  if (palette === null) {
    const style = getComputedStyle(document.documentElement);
    palette = Object.fromEntries(['ink', 'soft', 'paper', 'card', 'line', 'hit', 'good', 'bad', 'bar'].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  }
  return palette;
}
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => (palette = null));

export function download(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type })), link = element('a', { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** A canvas with the resolution of the screen; size() is its side in CSS pixels. */
export function fitCanvas(canvas) {
  const scale = Math.min(2, window.devicePixelRatio || 1), side = canvas.clientWidth;
  if (canvas.width !== Math.round(side * scale)) canvas.width = canvas.height = Math.round(side * scale);
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, side, side);
  return { context, side, scale };
}

/** Points as squares of `size` CSS pixels; thousands of them are written to an image, which is faster than paths. */
export function drawPoints({ context, side, scale }, points, colour, size, alpha) {
  if (points.length < 4000) {
    context.fillStyle = colour;
    context.globalAlpha = alpha;
    for (let i = 0; i < points.length; i += 2) {
      context.beginPath();
      context.arc(points[i], points[i + 1], size / 2, 0, 2 * Math.PI);
      context.fill();
    }
    context.globalAlpha = 1;
    return;
  }
  const width = Math.round(side * scale), image = layer(width), pixels = new Uint32Array(image.data.data.buffer);
  pixels.fill(0);
  const [r, g, b] = colour.match(/[0-9a-f]{2}/gi).map((pair) => parseInt(pair, 16));
  const word = ((Math.round(255 * alpha) << 24) | (b << 16) | (g << 8) | r) >>> 0, reach = Math.max(1, Math.round(size * scale * 0.6));
  for (let i = 0; i < points.length; i += 2) {
    const x = Math.round(points[i] * scale), y = Math.round(points[i + 1] * scale);
    if (x < 0 || y < 0 || x + reach > width || y + reach > width) continue;
    for (let v = 0; v < reach; v++) pixels.fill(word, (y + v) * width + x, (y + v) * width + x + reach);
  }
  image.context.putImageData(image.data, 0, 0);
  context.drawImage(image.canvas, 0, 0, side, side);
}

const layers = new Map();
function layer(width) {
  if (!layers.has(width)) {
    const canvas = element('canvas');
    canvas.width = canvas.height = width;
    const context = canvas.getContext('2d');
    layers.clear();
    layers.set(width, { canvas, context, data: context.createImageData(width, width) });
  }
  return layers.get(width);
}
