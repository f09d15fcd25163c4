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

/**
 * Points of several groups, later groups on top: {x, y, kind} with the group of each point, and for every group {colour,
 * alpha}. Thousands of points are written to an image, which is faster than paths.
 */
export function drawPoints(surface, { x, y, kind }, groups, size) {
  const count = kind.length;
  if (count >= 4000) {
    drawImagePoints(surface, { x, y, kind }, groups, size);
    return;
  }
  const { context } = surface;
  groups.forEach(({ colour, alpha }, group) => {
    context.fillStyle = colour;
    context.globalAlpha = alpha;
    for (let i = 0; i < count; i++) {
      if (kind[i] !== group) continue;
      context.beginPath();
      context.arc(x[i], y[i], size / 2, 0, 2 * Math.PI);
      context.fill();
    }
  });
  context.globalAlpha = 1;
}
function drawImagePoints({ context, side, scale }, { x, y, kind }, groups, size) {
  const width = Math.round(side * scale), image = layer(width), pixels = image.pixels, reach = Math.max(1, Math.round(size * scale * 0.6));
  const words = groups.map(({ colour, alpha }) => {
    const [r, g, b] = colour.match(/[0-9a-f]{2}/gi).map((pair) => parseInt(pair, 16));
    return ((Math.round(255 * alpha) << 24) | (b << 16) | (g << 8) | r) >>> 0;
  });
  pixels.fill(0);
  for (let group = 0; group < groups.length; group++)
    for (let i = 0; i < kind.length; i++) {
      if (kind[i] !== group) continue;
      const left = Math.round(x[i] * scale), top = Math.round(y[i] * scale);
      if (left < 0 || top < 0 || left + reach > width || top + reach > width) continue;
      for (let v = 0, at = top * width + left; v < reach; v++, at += width) for (let u = 0; u < reach; u++) pixels[at + u] = words[group];
    }
  image.context.putImageData(image.data, 0, 0);
  context.drawImage(image.canvas, 0, 0, side, side);
}
export const pointSize = (count) => (count > 4000 ? 2 : count > 1000 ? 3 : 5);

const layers = new Map();
function layer(width) {
  if (!layers.has(width)) {
    const canvas = element('canvas');
    canvas.width = canvas.height = width;
    const context = canvas.getContext('2d');
    const data = context.createImageData(width, width);
    layers.clear();
    layers.set(width, { canvas, context, data, pixels: new Uint32Array(data.data.buffer) });
  }
  return layers.get(width);
}
