// The unit sphere in orthographic projection: grid, cap, points.
import { colours, drawPoints, pointSize } from './dom.js';

const STEPS = 72;

/** A view of the sphere: rotation about the vertical axis, then towards the viewer; rows right, up, towards the viewer. */
export function createView(turn, tilt) {
  const [ct, st, cp, sp] = [Math.cos(turn), Math.sin(turn), Math.cos(tilt), Math.sin(tilt)];
  // data axes 0 and 1 are horizontal, the pole axis 2 is up
  return [ct, st, 0, -sp * st, sp * ct, cp, cp * st, -cp * ct, sp];
}

const circle = (centre, a, b, count = STEPS) =>
  Array.from({ length: count + 1 }, (_, i) => {
    const t = (2 * Math.PI * i) / count, c = Math.cos(t), s = Math.sin(t);
    return [0, 1, 2].map((k) => centre[k] + c * a[k] + s * b[k]);
  });

/** Two unit vectors across p. */
export function across(p) {
  const least = p.map(Math.abs).indexOf(Math.min(...p.map(Math.abs))), e = [0, 0, 0];
  e[least] = 1;
  const dot = p[least], a = e.map((value, k) => value - dot * p[k]), size = Math.hypot(...a);
  const u = a.map((value) => value / size);
  return [u, [p[1] * u[2] - p[2] * u[1], p[2] * u[0] - p[0] * u[2], p[0] * u[1] - p[1] * u[0]]];
}

/** kinds: 0 or 1 per image, drawn in the colours `kindColours`. */
export function drawSphere(surface, view, cap, images, kinds, kindColours, marked) {
  const { context, side } = surface, c = colours(), radius = side * 0.42, middle = side / 2;
  const at = ([x, y, z]) => [
    middle + radius * (view[0] * x + view[1] * y + view[2] * z),
    middle - radius * (view[3] * x + view[4] * y + view[5] * z),
    view[6] * x + view[7] * y + view[8] * z,
  ];
  const disc = context.createRadialGradient(middle - radius * 0.4, middle - radius * 0.5, radius * 0.1, middle, middle, radius);
  disc.addColorStop(0, c.card);
  disc.addColorStop(1, c.paper);
  context.fillStyle = disc;
  context.beginPath();
  context.arc(middle, middle, radius, 0, 2 * Math.PI);
  context.fill();
  context.strokeStyle = c.soft;
  context.lineWidth = 1;
  context.stroke();

  const trace = (points, front, back) => {
    for (const [wanted, style] of [[false, back], [true, front]]) {
      context.strokeStyle = style.colour;
      context.lineWidth = style.width;
      context.globalAlpha = style.alpha;
      context.beginPath();
      let open = false;
      for (const point of points) {
        const [x, y, near] = at(point), shown = near >= 0 === wanted;
        shown && open ? context.lineTo(x, y) : context.moveTo(x, y);
        open = shown;
      }
      context.stroke();
    }
    context.globalAlpha = 1;
  };
  const line = { colour: c.line, width: 0.8, alpha: 1 }, faint = { colour: c.line, width: 0.8, alpha: 0.35 };
  for (let i = 0; i < 6; i++) {
    const t = (Math.PI * i) / 6;
    trace(circle([0, 0, 0], [Math.cos(t), Math.sin(t), 0], [0, 0, 1]), line, faint);
  }
  for (const z of [-0.866, -0.5, 0.5, 0.866]) {
    const r = Math.sqrt(1 - z * z);
    trace(circle([0, 0, z], [r, 0, 0], [0, r, 0]), line, faint);
  }
  trace(circle([0, 0, 0], [1, 0, 0], [0, 1, 0]), { colour: c.soft, width: 1.2, alpha: 0.9 }, { colour: c.soft, width: 1, alpha: 0.3 });
  if (cap !== null) drawCap(context, at, trace, cap, c);
  drawImages(surface, view, images, kinds, kindColours);
  for (const [name, z] of [['e', 1], ['−e', -1]]) {
    const [x, y, near] = at([0, 0, z]);
    context.globalAlpha = near >= -0.02 ? 1 : 0.4;
    context.fillStyle = c.ink;
    context.beginPath();
    context.arc(x, y, 3, 0, 2 * Math.PI);
    context.fill();
    context.font = 'italic 16px Georgia, serif';
    context.fillText(name, x + 8, y + (z > 0 ? -6 : 16));
    context.globalAlpha = 1;
  }
  if (marked >= 0) {
    const [x, y] = at([images[3 * marked], images[3 * marked + 1], images[3 * marked + 2]]);
    context.strokeStyle = c.ink;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, 7, 0, 2 * Math.PI);
    context.stroke();
  }
  return at;
}

/** The cap as rings of quads around p, those in front stronger than those behind. */
function drawCap(context, at, trace, { p, b }, c) {
  if (b > 1 || b < -1) return;
  const [u, v] = across(p), angle = Math.acos(b), rings = Math.max(6, Math.ceil((24 * angle) / Math.PI));
  const ring = (i) => {
    const t = (angle * i) / rings, s = Math.sin(t);
    return circle(p.map((value) => Math.cos(t) * value), u.map((value) => s * value), v.map((value) => s * value));
  };
  context.fillStyle = c.hit;
  const quads = [[], []];
  let inner = ring(0).map(at);
  for (let i = 1; i <= rings; i++) {
    const outer = ring(i).map(at);
    for (let k = 0; k < STEPS; k++) {
      const corners = [inner[k], inner[k + 1], outer[k + 1], outer[k]];
      quads[corners.reduce((sum, corner) => sum + corner[2], 0) >= 0 ? 0 : 1].push(corners);
    }
    inner = outer;
  }
  quads.forEach((list, behind) => {
    context.globalAlpha = behind ? 0.07 : 0.2;
    context.beginPath();
    for (const [first, ...rest] of list) {
      const area = rest.reduce((sum, [x, y], i, all) => sum + (i === 0 ? 0 : (all[i - 1][0] - first[0]) * (y - first[1]) - (x - first[0]) * (all[i - 1][1] - first[1])), 0);
      const order = area >= 0 ? [first, ...rest] : [first, ...rest.reverse()];
      context.moveTo(order[0][0], order[0][1]);
      order.slice(1).forEach(([x, y]) => context.lineTo(x, y));
    }
    context.fill();
  });
  context.globalAlpha = 1;
  trace(ring(rings), { colour: c.hit, width: 2, alpha: 1 }, { colour: c.hit, width: 1.4, alpha: 0.35 });
}

/** Both kinds behind the sphere, then both in front. */
function drawImages(surface, view, images, kinds, [first, second]) {
  const count = kinds.length, x = new Float32Array(count), y = new Float32Array(count), kind = new Uint8Array(count);
  const radius = surface.side * 0.42, middle = surface.side / 2, [a, b, c, d, e, f, g, h, k] = view;
  for (let i = 0; i < count; i++) {
    const u = images[3 * i], v = images[3 * i + 1], w = images[3 * i + 2];
    x[i] = middle + radius * (a * u + b * v + c * w);
    y[i] = middle - radius * (d * u + e * v + f * w);
    kind[i] = kinds[i] + (g * u + h * v + k * w < 0 ? 0 : 2);
  }
  const groups = [{ colour: first, alpha: 0.18 }, { colour: second, alpha: 0.25 }, { colour: first, alpha: 0.6 }, { colour: second, alpha: 0.95 }];
  drawPoints(surface, { x, y, kind }, groups, pointSize(count));
}
