// The plane beside the sphere: a region, its cap, and the same points in both.
import { byId, colours, drawPoints, element, fitCanvas, pointSize, short } from './dom.js';
import { createView, drawSphere } from './sphere.js';

const REACH = 3; // the plane shows -REACH .. REACH
const STORIES = {
  ball: 'Drag the ball. Its cap moves with it, and the points inside the ball are the points above the threshold: |x−c| ≤ r exactly if ⟨p,y⟩ ≥ b.',
  ellipsoid: 'With a whitening W before the map, y = S(W(x−m)), caps are ellipsoids of the plane. Any shape of ellipse is one threshold.',
  'half-space': 'A half-space is a ball of infinite radius. Its cap has −e, the image of infinity, on its edge.',
  points: 'Drag the large points. The smallest ball around them is found and proven, and its cap is drawn.',
  cap: '',
  classifier: 'A linear classifier is trained on the sphere. Its boundary, a plane, cuts out a cap, which is a circle in the plane. Click to add points.',
};
const SLIDERS = {
  ball: ['cx', 'cy', 'r', 's', 'mx', 'my'],
  ellipsoid: ['cx', 'cy', 'r', 'stretch', 'angle', 's'],
  'half-space': ['angle', 'offset', 's', 'mx', 'my'],
  points: ['s', 'mx', 'my'],
  cap: ['longitude', 'latitude', 'b', 's', 'mx', 'my'],
  classifier: ['s', 'mx', 'my'],
};
const RANGES = {
  cx: ['centre c₁', -2.5, 2.5, 0.01], cy: ['centre c₂', -2.5, 2.5, 0.01], r: ['radius r', 0.05, 3, 0.01], s: ['scale s', 0.2, 4, 0.01],
  mx: ['centre m₁', -2, 2, 0.01], my: ['centre m₂', -2, 2, 0.01], stretch: ['stretch', 1, 4, 0.01], angle: ['angle', -3.14, 3.14, 0.01],
  offset: ['offset', -2.5, 2.5, 0.01], longitude: ['longitude', -3.14, 3.14, 0.01], latitude: ['latitude', -1.57, 1.57, 0.01], b: ['threshold b', -0.98, 0.98, 0.01],
};
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
function makePoints(count) {
  const next = random(7), data = new Float64Array(2 * count);
  const gauss = () => Math.sqrt(-2 * Math.log(next() + 1e-12)) * Math.cos(2 * Math.PI * next());
  for (let i = 0; i < count; i++) {
    data[2 * i] = 0.95 * gauss();
    data[2 * i + 1] = 0.95 * gauss();
  }
  return data;
}
/** A cluster of class 1 within a ring of class 0. */
function makeLabelled() {
  const next = random(11), points = [];
  for (let i = 0; i < 120; i++) {
    const t = 2 * Math.PI * next(), near = i % 2 === 0, r = near ? 0.75 * Math.sqrt(next()) : 1.15 + 0.9 * next();
    points.push({ x: 0.5 + r * Math.cos(t), y: 0.2 + r * Math.sin(t), label: near ? 1 : 0 });
  }
  return points;
}

export function createSee(capball) {
  const plane = byId('plane'), sphere = byId('sphere');
  const state = {
    shape: 'ball', cx: 0.7, cy: -0.6, r: 0.7, s: 1.3, mx: 0, my: 0, stretch: 2, angle: 0.5, offset: 0.6, longitude: -0.7, latitude: 0.4, b: 0.6,
    turn: 0.3, tilt: 0.35, rotating: !matchMedia('(prefers-reduced-motion: reduce)').matches, marked: -1,
    corners: [[-0.9, -0.4], [0.8, 0.9], [1.3, -0.7], [0.1, 1.4], [-0.2, 0.1]], corner: 0,
    labelled: makeLabelled(), adding: 1, weights: null, steps: 0,
  };
  let cloud = makePoints(400), result = null, sphereAt = null, pending = false, dirty = true, last = 0, prepared = null;
  const times = [];

  // ---- the law ----

  function mapOptions() {
    if (state.shape !== 'ellipsoid') return { d: 2, s: state.s, center: [state.mx, state.my] };
    const [c, n] = [Math.cos(state.angle), Math.sin(state.angle)];
    return { d: 2, s: state.s, center: [state.mx, state.my], whiten: [c / state.stretch, n / state.stretch, -n, c] };
  }
  function capOfAngles() {
    const [ct, st, cl, sl] = [Math.cos(state.longitude), Math.sin(state.longitude), Math.cos(state.latitude), Math.sin(state.latitude)];
    return { p: [cl * ct, cl * st, sl], b: state.b };
  }
  function regionOf(map) {
    switch (state.shape) {
      case 'half-space': return { kind: 'half-space', normal: [Math.cos(state.angle), Math.sin(state.angle)], offset: state.offset };
      case 'points': {
        const { center, radius } = capball.enclosingBall(state.corners);
        return { kind: 'ball', center, radius: Math.max(radius, 1e-6) };
      }
      case 'cap': return map.region(capOfAngles());
      case 'classifier': return map.region(train(map));
      default: return { kind: 'ball', center: [state.cx, state.cy], radius: state.r };
    }
  }
  function pointsShown() {
    if (state.shape !== 'classifier') return cloud;
    return Float64Array.from(state.labelled.flatMap(({ x, y }) => [x, y]));
  }
  /** The map and the images of the points, which a moving region does not change. */
  function prepare() {
    const points = pointsShown(), key = JSON.stringify([mapOptions(), points.length]);
    if (prepared !== null && prepared.key === key && prepared.cloud === cloud && state.shape !== 'classifier') return prepared;
    prepared?.map.free();
    prepared?.rows.free();
    const map = new capball.SphereMap(mapOptions()), rows = capball.Rows.from({ data: points, cols: 2 });
    prepared = { key, cloud, points, map, rows, images: map.embed(rows).data };
    return prepared;
  }
  function compute() {
    const { map, rows, points, images } = prepare(), region = regionOf(map);
    const cap = region.kind === 'empty' || region.kind === 'everything' ? capOfAngles() : map.cap(region), scores = map.regionScores(region, rows);
    const inside = new Uint8Array(scores.length), [p, q, w] = cap.p;
    let byDistance = 0, byThreshold = 0;
    for (let i = 0; i < scores.length; i++) {
      inside[i] = scores[i] >= 0 ? 1 : 0;
      byDistance += inside[i];
      byThreshold += p * images[3 * i] + q * images[3 * i + 1] + w * images[3 * i + 2] >= cap.b ? 1 : 0;
    }
    return { region, cap, points, images, inside, byDistance, byThreshold };
  }

  // ---- the classifier: damped Newton steps of logistic regression on the images ----

  function train(map) {
    const { labelled } = state, images = map.embed({ data: pointsShown(), cols: 2 }).data;
    state.weights ??= [0.3, -0.2, 0.1, 0.05];
    if (state.steps > 0) {
      state.steps--;
      newtonStep(state.weights, images, labelled);
    }
    const [a, b, c, bias] = state.weights, size = Math.hypot(a, b, c) || 1;
    return { p: [a / size, b / size, c / size], b: clamp(-bias / size, -0.999, 0.999) };
  }
  function newtonStep(w, images, labelled) {
    const gradient = w.map((value) => 0.05 * value), hessian = w.map((_, i) => w.map((_unused, k) => (i === k ? 0.05 : 0)));
    labelled.forEach(({ label }, i) => {
      const y = [images[3 * i], images[3 * i + 1], images[3 * i + 2], 1];
      const q = 1 / (1 + Math.exp(-y.reduce((sum, value, k) => sum + value * w[k], 0)));
      for (let k = 0; k < 4; k++) {
        gradient[k] += (q - label) * y[k];
        for (let l = 0; l < 4; l++) hessian[k][l] += q * (1 - q) * y[k] * y[l];
      }
    });
    const step = solve(hessian, gradient);
    for (let k = 0; k < 4; k++) w[k] -= 0.12 * step[k];
  }
  function solve(matrix, right) {
    const rows = matrix.map((row, i) => [...row, right[i]]);
    for (let k = 0; k < 4; k++)
      for (let i = 0; i < 4; i++) {
        if (i === k) continue;
        const factor = rows[i][k] / rows[k][k];
        for (let l = k; l < 5; l++) rows[i][l] -= factor * rows[k][l];
      }
    return rows.map((row, i) => row[4] / row[i]);
  }

  // ---- drawing ----

  const toPixel = (side, x, y) => [side / 2 + (x / REACH) * (side / 2), side / 2 - (y / REACH) * (side / 2)];
  const toPlane = (side, px, py) => [((px - side / 2) / (side / 2)) * REACH, (-(py - side / 2) / (side / 2)) * REACH];

  function outline(context, side, region) {
    const unit = side / 2 / REACH;
    if (region.kind === 'half-space') {
      const [nx, ny] = region.normal, far = 20, [x, y] = [nx * region.offset, ny * region.offset];
      [[x - ny * far, y + nx * far], [x + ny * far, y - nx * far], [x + ny * far + nx * far, y - nx * far + ny * far], [x - ny * far + nx * far, y + nx * far + ny * far]]
        .forEach((corner, i) => context[i === 0 ? 'moveTo' : 'lineTo'](...toPixel(side, ...corner)));
      context.closePath();
    } else if (region.center !== undefined) {
      const [x, y] = toPixel(side, ...region.center), wide = state.shape === 'ellipsoid' ? state.stretch : 1;
      context.ellipse(x, y, region.radius * unit * wide, region.radius * unit, -state.angle * (wide === 1 ? 0 : 1), 0, 2 * Math.PI);
    }
    if (region.kind === 'complement' || region.kind === 'everything') context.rect(-1, -1, side + 2, side + 2);
  }
  function drawPlane({ region, points }) {
    const surface = fitCanvas(plane), { context, side } = surface, c = colours(), unit = side / 2 / REACH;
    context.strokeStyle = c.line;
    context.lineWidth = 0.8;
    context.beginPath();
    for (let i = -REACH + 1; i < REACH; i++) {
      const [x, y] = toPixel(side, i, i);
      context.moveTo(x, 0);
      context.lineTo(x, side);
      context.moveTo(0, y);
      context.lineTo(side, y);
    }
    context.stroke();
    const [mx, my] = toPixel(side, state.mx, state.my);
    if (state.shape !== 'ellipsoid') {
      context.strokeStyle = c.soft;
      context.setLineDash([5, 4]);
      context.beginPath();
      context.arc(mx, my, state.s * unit, 0, 2 * Math.PI);
      context.stroke();
      context.setLineDash([]);
    }
    context.fillStyle = c.hit;
    context.globalAlpha = 0.13;
    context.beginPath();
    outline(context, side, region);
    context.fill('evenodd');
    context.globalAlpha = 1;
    context.strokeStyle = c.hit;
    context.lineWidth = 2;
    context.beginPath();
    outline(context, side, region);
    context.stroke();
    drawCloud(surface, points, kindsOf(result));
    label(context, c, 'm', mx, my);
    if (region.center !== undefined) label(context, c, 'c', ...toPixel(side, ...region.center));
    if (state.shape === 'points') state.corners.forEach((corner, i) => knob(context, c, ...toPixel(side, ...corner), i === state.corner && document.activeElement === plane));
    if (state.marked >= 0) {
      context.strokeStyle = c.ink;
      context.lineWidth = 2;
      context.beginPath();
      context.arc(...toPixel(side, points[2 * state.marked], points[2 * state.marked + 1]), 7, 0, 2 * Math.PI);
      context.stroke();
    }
  }
  /** What the colours of points tell: their class, or whether they are inside. */
  const kindsOf = ({ inside }) => (state.shape === 'classifier' ? state.labelled.map((point) => point.label) : inside);
  const kindColours = () => [state.shape === 'classifier' ? colours().bar : colours().soft, colours().hit];
  function drawCloud(surface, points, kinds) {
    const count = kinds.length, x = new Float32Array(count), y = new Float32Array(count), [first, second] = kindColours();
    const half = surface.side / 2, unit = half / REACH;
    for (let i = 0; i < count; i++) {
      x[i] = half + unit * points[2 * i];
      y[i] = half - unit * points[2 * i + 1];
    }
    drawPoints(surface, { x, y, kind: kinds }, [{ colour: first, alpha: 0.6 }, { colour: second, alpha: 0.95 }], pointSize(count));
  }
  function label(context, c, name, x, y) {
    context.fillStyle = c.ink;
    context.beginPath();
    context.arc(x, y, 3, 0, 2 * Math.PI);
    context.fill();
    context.font = 'italic 16px Georgia, serif';
    context.fillText(name, x + 7, y - 6);
  }
  function knob(context, c, x, y, active) {
    context.fillStyle = c.card;
    context.strokeStyle = active ? c.bar : c.ink;
    context.lineWidth = active ? 3 : 2;
    context.beginPath();
    context.arc(x, y, 8, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }

  function frame(now) {
    pending = false;
    const start = performance.now();
    if (state.rotating) {
      if (last !== 0) state.turn += 0.00022 * Math.min(60, now - last);
      last = now;
    }
    if (dirty || state.steps > 0) {
      result = compute();
      tell();
    }
    dirty = false;
    drawPlane(result);
    sphereAt = drawSphere(fitCanvas(sphere), createView(state.turn, state.tilt), result.cap, result.images, kindsOf(result), kindColours(), state.marked);
    times.push(performance.now() - start);
    if (times.length > 60) times.shift();
    if (visible && (state.rotating || state.steps > 0)) schedule();
  }
  function schedule() {
    if (!pending) requestAnimationFrame(frame);
    pending = true;
  }
  function update() {
    dirty = true;
    schedule();
  }
  let visible = true;
  new IntersectionObserver(([entry]) => {
    visible = entry.isIntersecting;
    last = 0;
    if (visible) schedule();
  }).observe(byId('see'));

  // ---- the numbers ----

  const vector = (list) => `(${Array.from(list, (value) => short(value)).join(', ')})`;
  function tell() {
    const { region, cap, byDistance, byThreshold, inside } = result;
    const rows = [['scale s', state.s], ['centre m', [state.mx, state.my]], ['p', Array.from(cap.p)], ['b', cap.b], ['region', region.kind]];
    if (region.center !== undefined) rows.push(['c', Array.from(region.center)], ['r', region.radius]);
    if (region.normal !== undefined) rows.push(['normal', Array.from(region.normal)], ['offset', region.offset]);
    rows.push(['inside by region', byDistance], ['above the threshold', byThreshold]);
    byId('law').tBodies[0].replaceChildren(...rows.map(([name, value]) => {
      const cell = element('td', { 'data-name': name, 'data-value': JSON.stringify(value) }, Array.isArray(value) ? vector(value) : typeof value === 'number' ? short(value, 8) : value);
      return element('tr', {}, element('th', { scope: 'row' }, name), cell);
    }));
    byId('story').textContent = state.shape === 'cap' ? capStory(region, cap) : STORIES[state.shape];
    byId('summary').textContent = state.shape === 'classifier' ? classifierStory() : `${byDistance} of ${inside.length} points are inside.`;
    plane.setAttribute('aria-label', `the plane: ${region.kind}${region.center === undefined ? '' : ` with centre ${vector(region.center)} and radius ${short(region.radius)}`}, ${byDistance} of ${inside.length} points inside`);
    sphere.setAttribute('aria-label', `the sphere: cap with centre p = ${vector(cap.p)} and threshold b = ${short(cap.b)}`);
    for (const key of SLIDERS[state.shape]) {
      const input = byId(`slide-${key}`);
      input.value = state[key];
      input.nextElementSibling.value = short(state[key], 4);
    }
  }
  function capStory(region, cap) {
    if (region.kind === 'ball') return 'Lower the threshold b: the cap grows towards −e, the image of infinity, and its ball grows without bound.';
    if (region.kind === 'half-space') return 'The edge of the cap passes through −e: its region is a half-space.';
    return `The cap has swallowed −e (b + ⟨p,e⟩ = ${short(cap.b + cap.p[2], 3)} < 0): its region is everything outside a ball.`;
  }
  function classifierStory() {
    const right = state.labelled.filter(({ label: one }, i) => one === result.inside[i]).length;
    return `${right} of ${state.labelled.length} points are on the right side.`;
  }

  // ---- controls ----

  function buildSliders() {
    const box = byId('sliders');
    box.replaceChildren(...SLIDERS[state.shape].map((key) => {
      const [name, low, high, step] = RANGES[key];
      const input = element('input', { type: 'range', id: `slide-${key}`, min: low, max: high, step, value: state[key] });
      input.addEventListener('input', () => set(key, Number(input.value)));
      return element('label', {}, element('span', {}, name), input, element('output', { for: `slide-${key}` }));
    }), extraControls());
  }
  function extraControls() {
    const row = element('div', { class: 'row' });
    if (state.shape === 'classifier') {
      const again = element('button', { type: 'button', id: 'train' }, 'Train again'), which = element('select', { id: 'adding', 'aria-label': 'class of new points' },
        element('option', { value: '1' }, 'add orange'), element('option', { value: '0' }, 'add blue'));
      which.value = String(state.adding);
      which.addEventListener('change', () => (state.adding = Number(which.value)));
      again.addEventListener('click', startTraining);
      row.append(again, which);
    } else {
      const count = element('select', { id: 'count', 'aria-label': 'number of points' }, ...[400, 2000, 20000].map((n) => element('option', { value: n }, `${n.toLocaleString('en')} points`)));
      count.value = String(cloud.length / 2);
      count.addEventListener('change', () => {
        cloud = makePoints(Number(count.value));
        state.marked = -1;
        update();
      });
      row.append(count);
    }
    const turn = element('button', { type: 'button', id: 'rotate', 'aria-pressed': String(state.rotating) }, state.rotating ? 'Stop turning' : 'Turn');
    turn.addEventListener('click', toggleRotation);
    row.append(turn);
    return row;
  }
  function toggleRotation() {
    state.rotating = !state.rotating;
    last = 0;
    byId('rotate').setAttribute('aria-pressed', String(state.rotating));
    byId('rotate').textContent = state.rotating ? 'Stop turning' : 'Turn';
    schedule();
  }
  function startTraining() {
    state.weights = null;
    state.steps = 90;
    update();
  }
  function set(key, value) {
    const [, low, high] = RANGES[key];
    state[key] = clamp(value, low, high);
    if (state.shape === 'classifier') state.steps = 60;
    update();
  }
  byId('shapes').addEventListener('change', (event) => {
    state.shape = event.target.value;
    state.marked = -1;
    if (state.shape === 'classifier') startTraining();
    buildSliders();
    update();
  });

  // ---- pointers ----

  const place = (canvas, event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left - canvas.clientLeft, event.clientY - box.top - canvas.clientTop, canvas.clientWidth];
  };
  let grip = null;
  function gripAt(x, y) {
    const [dx, dy] = [x - state.cx, y - state.cy];
    if (state.shape === 'points') {
      const distances = state.corners.map(([a, b]) => Math.hypot(a - x, b - y)), least = Math.min(...distances);
      state.corner = distances.indexOf(least);
      return { kind: 'corner' };
    }
    if (state.shape === 'half-space') return { kind: 'half' };
    if (state.shape === 'cap') return { kind: 'cap' };
    if (Math.hypot(x - state.mx, y - state.my) < 0.12 && state.shape === 'ball') return { kind: 'm' };
    const edge = distanceInShape(dx, dy) / state.r;
    return edge > 0.82 && edge < 1.25 ? { kind: 'radius' } : { kind: 'centre', dx: edge <= 1 ? dx : 0, dy: edge <= 1 ? dy : 0 };
  }
  function distanceInShape(dx, dy) {
    if (state.shape !== 'ellipsoid') return Math.hypot(dx, dy);
    const [c, n] = [Math.cos(state.angle), Math.sin(state.angle)];
    return Math.hypot((c * dx + n * dy) / state.stretch, -n * dx + c * dy);
  }
  function dragTo(x, y) {
    if (grip.kind === 'corner') state.corners[state.corner] = [clamp(x, -REACH, REACH), clamp(y, -REACH, REACH)];
    if (grip.kind === 'm') Object.assign(state, { mx: clamp(x, -2, 2), my: clamp(y, -2, 2) });
    if (grip.kind === 'radius') state.r = clamp(distanceInShape(x - state.cx, y - state.cy), 0.05, 3);
    if (grip.kind === 'centre') Object.assign(state, { cx: clamp(x - grip.dx, -2.5, 2.5), cy: clamp(y - grip.dy, -2.5, 2.5) });
    if (grip.kind === 'half') Object.assign(state, { angle: Math.atan2(y, x), offset: clamp(Math.hypot(x, y), 0, 2.5) });
    if (grip.kind === 'cap') {
      const [a, b] = [(x - state.mx) / state.s, (y - state.my) / state.s];
      Object.assign(state, { longitude: Math.atan2(b, a), latitude: Math.atan2(1 - a * a - b * b, 2 * Math.hypot(a, b)) });
    }
    update();
  }
  plane.addEventListener('pointerdown', (event) => {
    const [px, py, side] = place(plane, event), [x, y] = toPlane(side, px, py);
    if (state.shape === 'classifier') {
      addPoint(x, y);
      return;
    }
    grip = gripAt(x, y);
    plane.setPointerCapture(event.pointerId);
  });
  plane.addEventListener('pointermove', (event) => {
    const [px, py, side] = place(plane, event), [x, y] = toPlane(side, px, py);
    if (grip !== null) dragTo(x, y);
    else mark(nearest((i) => toPixel(side, result.points[2 * i], result.points[2 * i + 1]), px, py));
  });
  for (const end of ['pointerup', 'pointercancel']) plane.addEventListener(end, () => (grip = null));
  function addPoint(x, y) {
    state.labelled.push({ x, y, label: state.adding });
    state.steps = 60;
    update();
  }
  function nearest(position, px, py) {
    let best = -1, least = 12;
    if (result === null || result.inside.length > 4000) return best;
    for (let i = 0; i < result.inside.length; i++) {
      const [x, y, near = 0] = position(i), distance = Math.hypot(x - px, y - py);
      if (near >= 0 && distance < least) [best, least] = [i, distance];
    }
    return best;
  }
  function mark(i) {
    if (i === state.marked) return;
    state.marked = i;
    schedule();
  }
  let turning = null;
  sphere.addEventListener('pointerdown', (event) => {
    turning = place(sphere, event);
    sphere.setPointerCapture(event.pointerId);
    if (state.rotating) toggleRotation();
  });
  sphere.addEventListener('pointermove', (event) => {
    const now = place(sphere, event);
    if (turning === null) {
      if (sphereAt !== null) mark(nearest((i) => sphereAt([result.images[3 * i], result.images[3 * i + 1], result.images[3 * i + 2]]), now[0], now[1]));
      return;
    }
    turn((now[0] - turning[0]) / 120, (now[1] - turning[1]) / 120);
    turning = now;
  });
  for (const end of ['pointerup', 'pointercancel']) sphere.addEventListener(end, () => (turning = null));
  function turn(right, down) {
    state.turn -= right;
    state.tilt = clamp(state.tilt + down, -1.5, 1.5);
    schedule();
  }

  // ---- keys ----

  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  function pushShape([x, y], step) {
    if (state.shape === 'points') {
      const [a, b] = state.corners[state.corner];
      state.corners[state.corner] = [clamp(a + step * x, -REACH, REACH), clamp(b + step * y, -REACH, REACH)];
    } else if (state.shape === 'half-space') Object.assign(state, { angle: state.angle - step * x, offset: clamp(state.offset + step * y, -2.5, 2.5) });
    else if (state.shape === 'cap') Object.assign(state, { longitude: state.longitude + step * x, latitude: clamp(state.latitude + step * y, -1.57, 1.57) });
    else Object.assign(state, { cx: clamp(state.cx + step * x, -2.5, 2.5), cy: clamp(state.cy + step * y, -2.5, 2.5) });
    update();
  }
  plane.addEventListener('keydown', (event) => {
    if (event.key in ARROWS) pushShape(ARROWS[event.key], event.shiftKey ? 0.01 : 0.05);
    else if (event.key === '+' || event.key === '=') state.shape === 'cap' ? set('b', state.b - 0.02) : set('r', state.r * 1.05);
    else if (event.key === '-') state.shape === 'cap' ? set('b', state.b + 0.02) : set('r', state.r / 1.05);
    else if (event.key === ' ' && state.shape === 'points') state.corner = (state.corner + 1) % state.corners.length;
    else if (event.key === 'Enter' && state.shape === 'classifier') addPoint(state.cx, state.cy);
    else return;
    event.preventDefault();
    schedule();
  });
  sphere.addEventListener('keydown', (event) => {
    if (event.key in ARROWS) turn(ARROWS[event.key][0] * 0.1, -ARROWS[event.key][1] * 0.1);
    else if (event.key === ' ') toggleRotation();
    else return;
    event.preventDefault();
  });

  addEventListener('resize', schedule);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', schedule);
  buildSliders();
  update();
  return { frameTimes: () => [...times] };
}
