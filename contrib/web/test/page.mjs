// The page in chromium: by file and from a server, at phone and desktop width, by mouse and by keys alone.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as native from './native.mjs';
import { skip, test } from './tap.mjs';

const BROWSER = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** playwright-core and axe-core of `make test-web`, or null. */
function tools() {
  try {
    const require = createRequire(join(process.env.WEB_TESTS, 'package.json'));
    return { chromium: require('playwright-core').chromium, axe: readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8') };
  } catch {
    return null;
  }
}

export async function openBrowser(options = {}) {
  const profile = mkdtempSync(join(tmpdir(), 'capball-browser-'));
  const context = await tools().chromium.launchPersistentContext(profile, { executablePath: BROWSER, headless: true, args: FLAGS, viewport: { width: 1200, height: 900 }, ...options });
  return { context, close: () => context.close().finally(() => rmSync(profile, { recursive: true, force: true })) };
}
export const browserIsThere = () => BROWSER !== undefined && tools() !== null;

/** Everything the page says or asks for, to be empty at the end. */
function watch(page, own) {
  const seen = [];
  page.on('console', (message) => seen.push(`console ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => seen.push(`error: ${error.message}`));
  page.on('request', (request) => request.url() !== own && !request.url().startsWith('blob:') && seen.push(`request: ${request.url()}`));
  return seen;
}

const law = (page) => page.$$eval('#law td', (cells) => Object.fromEntries(cells.map((cell) => [cell.dataset.name, JSON.parse(cell.dataset.value)])));
const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
/** Waits until a function is true in the page; Playwright's own would need unsafe-eval. */
async function until(page, condition, argument) {
  const end = Date.now() + 60000;
  while (!(await page.evaluate(condition, argument))) {
    if (Date.now() > end) throw new Error(`never true: ${condition}; the page says: ${await page.textContent('#data')} ${await page.textContent('#ball')} ${await page.textContent('#ball-error')}`);
    await page.waitForTimeout(20);
  }
}
const chooseShape = async (page, shape) => {
  await page.check(`input[value="${shape}"]`, { force: true });
  await settle(page);
};
const slide = async (page, key, value) => {
  await page.locator(`#slide-${key}`).fill(String(value));
  await settle(page);
};
const close = (a, b) => a.forEach((value, i) => assert.ok(Math.abs(value - b[i]) < 1e-9, `${value} is not ${b[i]}`));

/** T3 as it is written, about the centre m. */
function capByLaw({ s, m, c, r }) {
  const x = [c[0] - m[0], c[1] - m[1]], square = x[0] ** 2 + x[1] ** 2, h = square - r * r;
  const size = Math.sqrt((square - r * r + s * s) ** 2 + 4 * s * s * r * r);
  return { p: [(2 * s * x[0]) / size, (2 * s * x[1]) / size, (s * s - h) / size], b: (s * s + h) / size };
}
async function drag(page, from, to) {
  const box = await page.locator('#plane').boundingBox(), unit = (box.width - 2) / 6;
  const at = ([x, y]) => [box.x + 1 + (x + 3) * unit, box.y + 1 + (3 - y) * unit];
  await page.mouse.move(...at(from));
  await page.mouse.down();
  await page.mouse.move(...at(to), { steps: 7 });
  await page.mouse.up();
  await settle(page);
}

async function load(page, name, buffer) {
  const loads = await page.evaluate(() => document.getElementById('data').dataset.loads);
  await page.setInputFiles('#file', { name, mimeType: 'application/octet-stream', buffer });
  await until(page, (before) => document.getElementById('data').dataset.loads !== before, loads);
  return { data: await page.textContent('#data'), error: await page.textContent('#data-error') };
}
async function measure(page) {
  await page.click('#measure');
  await until(page, () => document.getElementById('state').textContent === 'Done.');
}
async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.click(button)]);
  return readFileSync(await download.path(), 'utf8');
}

const table = (rows, cols, seed = 3) => {
  const { data } = native.randomRows(seed, rows, cols, Float64Array), lines = [Array.from({ length: cols }, (_, k) => `c${k}`).join(',')];
  for (let i = 0; i < rows; i++) lines.push(Array.from(data.subarray(i * cols, i * cols + cols), (value) => value.toFixed(4)).join(','));
  return `${lines.join('\n')}\n`;
};

async function seeTests(page, capball, full) {
  await test('a drag changes the cap by the law', async () => {
    for (const [from, to] of [[[0.7, -0.6], [1.1, 0.3]], [[1.1, 0.3], [-0.9, 0.8]]]) {
      await drag(page, from, to);
      const now = await law(page), s = now['scale s'], m = now['centre m'];
      assert.ok(Math.hypot(now.c[0] - to[0], now.c[1] - to[1]) < 0.05);
      const expected = capByLaw({ s, m, c: now.c, r: now.r }), map = new capball.SphereMap({ d: 2, s, center: m }), theirs = map.cap({ center: now.c, radius: now.r });
      close([...now.p, now.b], [...expected.p, expected.b]);
      close([...now.p, now.b], [...theirs.p, theirs.b]);
      assert.equal(now['inside by region'], now['above the threshold']);
    }
  });
  if (!full) return;
  await test('its edge changes the radius, sliders the scale and the centre', async () => {
    const before = await law(page);
    await drag(page, [before.c[0] + before.r, before.c[1]], [before.c[0] + before.r + 0.4, before.c[1]]);
    await slide(page, 's', 2.2);
    await slide(page, 'mx', 0.35);
    const now = await law(page), expected = capByLaw({ s: 2.2, m: [0.35, 0], c: now.c, r: now.r });
    assert.ok(Math.abs(now.r - before.r - 0.4) < 0.05);
    close([...now.p, now.b], [...expected.p, expected.b]);
  });
  await test('an ellipsoid, a half-space, several points', async () => {
    await chooseShape(page, 'ellipsoid');
    await slide(page, 'stretch', 3);
    let now = await law(page);
    assert.equal(now['inside by region'], now['above the threshold']);
    await chooseShape(page, 'half-space');
    now = await law(page);
    assert.equal(now.region, 'half-space');
    close([now.b + now.p[2]], [0]); // -e is on its edge
    await chooseShape(page, 'points');
    await drag(page, [1.3, -0.7], [2, -1.5]);
    now = await law(page);
    const ball = capball.enclosingBall([[-0.9, -0.4], [0.8, 0.9], [2, -1.5], [0.1, 1.4], [-0.2, 0.1]]);
    assert.ok(Math.abs(ball.radius - now.r) < 0.03);
  });
  await test('a cap that swallows the pole is the outside of a ball', async () => {
    await chooseShape(page, 'cap');
    await slide(page, 'b', 0.5);
    assert.equal((await law(page)).region, 'ball');
    await slide(page, 'b', -0.7);
    const now = await law(page);
    assert.equal(now.region, 'complement');
    assert.match(await page.textContent('#story'), /swallowed/);
    const map = new capball.SphereMap({ d: 2, s: now['scale s'], center: now['centre m'] }), region = map.region({ p: now.p, b: now.b });
    close([...now.c, now.r], [...region.center, region.radius]);
  });
  await test('a classifier is trained on the sphere, its boundary is a circle', async () => {
    await chooseShape(page, 'classifier');
    await until(page, () => /^1[12]\d of 120/.test(document.getElementById('summary').textContent));
    await page.click('#plane', { position: { x: 30, y: 30 } });
    await until(page, () => document.getElementById('summary').textContent.includes('of 121'));
    const now = await law(page);
    assert.equal(now.region, 'ball');
    assert.equal(now['inside by region'], now['above the threshold']);
    await chooseShape(page, 'ball');
  });
}

async function fileTests(page, full) {
  const csv = table(400, 5);
  await test('a csv file is measured; the map is the file of the command', async () => {
    native.writeText('rows.csv', csv);
    assert.match((await load(page, 'rows.csv', Buffer.from(csv))).data, /rows\.csv: 400 rows of 5 columns, f64/);
    await measure(page);
    const [command] = (await page.textContent('#commands')).split('\n');
    native.capball(...command.split(' ').slice(1));
    assert.equal(await saved(page, '#download-map'), native.text('map.json'));
    assert.ok((await page.locator('#recall tbody tr').count()) >= 10);
    assert.equal(await page.locator('#recall tr.pick').count(), 1);
  });
  await test('a file whose first column is a name: the commands run as they are shown', async () => {
    const name = "it's named\u202e.csv", named = csv.split('\n').map((line, i) => (line === '' ? line : `${i === 0 ? 'who' : `r${i}`},${line}`)).join('\n');
    native.writeText(name, named);
    await load(page, name, Buffer.from(named));
    await page.fill('#ids', 'who');
    await page.locator('#ids').blur();
    await until(page, () => /named.*400 rows of 5/.test(document.getElementById('data').textContent));
    await measure(page);
    const commands = (await page.textContent('#commands')).split('\n');
    assert.match(commands[0], /--id-column who /);
    native.shell(['rm -f nearest.npy', ...commands, 'test -s nearest.npy']);
    assert.equal(await saved(page, '#download-map'), native.text('map.json'));
    assert.ok(!/[\u0080-\u009f\u200e-\u200f\u2028-\u202e\u2066-\u2069]/.test(await page.textContent('main')));
    await page.fill('#ids', '');
    await page.locator('#ids').blur();
  });
  await test('a broken file gets a sentence', async () => {
    const broken = await load(page, 'broken.csv', Buffer.from('a,b\n1,2\n3,x\n'));
    assert.match(broken.error, /^broken\.csv: line 3, column 2 \(b\): "x" is not a number/);
    assert.ok(await page.isDisabled('#measure'));
  });
  await test('outliers: model and scores of the command', async () => {
    await load(page, 'rows.csv', Buffer.from(csv));
    await page.waitForSelector('#ball-report:not([hidden])');
    native.capball('ball', 'rows.csv', '--nu', '0.1', '--standardize', '-o', 'model.json');
    native.capball('score', '-m', 'model.json', 'rows.csv', '-o', 'scores.npy');
    assert.equal(await saved(page, '#download-model'), native.text('model.json'));
    const lines = (await saved(page, '#download-scores')).trim().split('\n').slice(1).map((line) => Number(line.split(',')[1]));
    assert.deepEqual(lines, [...native.readNpy('scores.npy')]);
    assert.equal(await page.locator('#strange tbody tr').count(), 15);
  });
  if (!full) return;

  await test('every format', async () => {
    native.writeText('rows.tsv', csv.replaceAll(',', '\t'));
    const x = native.randomRows(9, 120, 6);
    native.writeNpy('f4.npy', x);
    native.writeNpy('f8.npy', { ...x, data: Float64Array.from(x.data) });
    native.writeFvecs('x.fvecs', x);
    native.writeNpy('bytes.npy', { rows: 120, cols: 6, data: Uint8Array.from(x.data, (value) => 16 * Math.abs(value)) });
    for (const [from, to] of [['f4.npy', 'x.fbin'], ['bytes.npy', 'x.bvecs'], ['bytes.npy', 'x.u8bin'], ['f4.npy', 'x.f16bin'], ['f4.npy', 'x.libsvm'], ['f4.npy', 'x.txt']]) native.capball('convert', from, '-o', to);
    for (const name of ['rows.tsv', 'f4.npy', 'f8.npy', 'x.fvecs', 'bytes.npy', 'x.fbin', 'x.bvecs', 'x.u8bin', 'x.f16bin', 'x.libsvm', 'x.txt']) {
      const { data, error } = await load(page, name, Buffer.from(native.bytes(name)));
      assert.match(data, new RegExp(`${name}: (400 rows of 5|120 rows of 6) columns`), error);
      await page.waitForSelector('#ball-report:not([hidden])');
    }
    await load(page, 'x.fvecs', Buffer.from(native.bytes('x.fvecs')));
    await measure(page);
  });
  await test('other broken files: a sentence each, and the page goes on', async () => {
    const npy = Buffer.from(native.bytes('f4.npy'));
    for (const [name, bytes, pattern] of [
      ['short.npy', npy.subarray(0, npy.length - 5), /short\.npy/], ['noise.npy', Buffer.from('nothing'), /noise\.npy/], ['empty.csv', Buffer.alloc(0), /empty\.csv/],
      ['x.fvecs', Buffer.from([2, 0, 0, 0, 1]), /x\.fvecs/], ['x.docx', Buffer.from('PK'), /x\.docx/], ['holes.csv', Buffer.from('1,2\n3,\n5,6\n'), /row 1|line 2|NaN/]]) {
      await load(page, name, bytes);
      const text = async () => (await page.textContent('#data-error')) + (await page.textContent('#ball-error'));
      await until(page, () => document.getElementById('data-error').textContent + document.getElementById('ball-error').textContent !== '');
      assert.match(await text(), pattern);
    }
    await page.check('#skip');
    await until(page, () => document.getElementById('data').textContent.includes('2 rows of 2'));
    await page.uncheck('#skip');
  });
  await test('columns to read, and the column of names', async () => {
    await load(page, 'named.csv', Buffer.from('who,a,b\nann,1,2\nbob,3,4\ncy,9,1\n'));
    await page.fill('#ids', 'who');
    await page.locator('#ids').blur();
    await until(page, () => document.getElementById('data').textContent.includes('3 rows of 2'));
    await page.fill('#nu', '0');
    await until(page, () => [...document.querySelectorAll('#strange tbody th')].some((cell) => cell.textContent === 'cy'));
    await page.fill('#ids', '');
    await page.fill('#nu', '0.1');
  });
  await test('a file that is dropped', async () => {
    await page.evaluate((text) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text], 'dropped.csv'));
      document.getElementById('drop').dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
    }, csv);
    await until(page, () => document.getElementById('data').textContent.includes('dropped.csv: 400 rows'));
  });
  await test('cancel ends the work, and it can start again', async () => {
    native.writeFvecs('large.fvecs', native.randomRows(4, 60000, 96));
    await load(page, 'large.fvecs', Buffer.from(native.bytes('large.fvecs')));
    await page.click('#measure');
    await until(page, () => document.getElementById('progress').value > 0);
    await page.click('#cancel');
    assert.equal(await page.textContent('#state'), 'Cancelled.');
    assert.ok(await page.isEnabled('#measure'));
    await load(page, 'rows.csv', Buffer.from(csv));
    await measure(page);
  });
  await test('outliers: two columns, nu, whitening', async () => {
    await page.selectOption('#columns', 'two');
    await page.fill('#nu', '0.3');
    await until(page, () => /\((29|30)\.\d %\)/.test(document.getElementById('ball').textContent));
    await page.check('#whiten');
    await until(page, () => !document.getElementById('ball').textContent.startsWith('Fitting'));
    await page.uncheck('#whiten');
    await page.selectOption('#columns', 'all');
  });
}

async function keyTests(page) {
  await test('keys alone do everything', async () => {
    const press = async (key, times = 1) => { for (let i = 0; i < times; i++) await page.keyboard.press(key); };
    const tabTo = async (id, most = 60) => {
      for (let i = 0; i < most; i++) {
        if ((await page.evaluate(() => document.activeElement.id || document.activeElement.dataset.sample || document.activeElement.value)) === id) return;
        await press('Tab');
      }
      throw new Error(`no way to ${id} by Tab`);
    };
    await page.evaluate(() => { document.activeElement?.blur(); scrollTo(0, 0); });
    await tabTo('ball');
    await press('ArrowRight');
    await settle(page);
    assert.equal(await page.isChecked('input[value=ellipsoid]'), true);
    await press('ArrowLeft');
    await settle(page);
    await tabTo('plane');
    const before = await law(page);
    await press('ArrowUp', 4);
    await press('+');
    await settle(page);
    const after = await law(page);
    close([after.c[1] - before.c[1], after.r / before.r], [0.2, 1.05]);
    await tabTo('sphere');
    const turning = await page.getAttribute('#rotate', 'aria-pressed');
    await press(' ');
    assert.notEqual(await page.getAttribute('#rotate', 'aria-pressed'), turning);
    await press('ArrowLeft', 3);
    await tabTo('slide-s');
    await press('ArrowRight', 3);
    await tabTo('file');
    await tabTo('people');
    await press('Enter');
    await until(page, () => document.getElementById('data').textContent.includes('people.csv'));
    await tabTo('measure');
    await press('Enter');
    await until(page, () => document.getElementById('state').textContent === 'Done.');
    await tabTo('download-map');
    const [download] = await Promise.all([page.waitForEvent('download'), press('Enter')]);
    assert.equal(download.suggestedFilename(), 'map.json');
    await tabTo('nu');
    const said = await page.textContent('#ball');
    await press('ArrowRight', 10);
    await until(page, (old) => /rows are outside/.test(document.getElementById('ball').textContent) && document.getElementById('ball').textContent !== old, said);
    await tabTo('download-scores');
    await Promise.all([page.waitForEvent('download'), press('Enter')]);
  });
}

async function looks(page, schemes, widths, axe) {
  for (const scheme of schemes) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const width of widths)
      await test(`${scheme}, ${width} pixels: no horizontal scrolling, labels and contrast`, async () => {
        await page.setViewportSize({ width, height: 900 });
        await settle(page);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] }));
        assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(' | ')}`), []);
        if (process.env.WEB_PICTURES) await page.screenshot({ path: join(process.env.WEB_PICTURES, `${scheme}-${width}.png`), fullPage: true });
      });
  }
  await page.setViewportSize({ width: 1200, height: 900 });
}

/** A static host that has the page and the package, and nothing else. */
function serve(web) {
  const user = '<!doctype html><title>x</title><script type="module">import { knn } from "/npm/index.js"; document.title = [...knn([[0, 0], [3, 4]], [[3, 3]], 1).ids].join();</script>';
  const types = { js: 'text/javascript', wasm: 'application/wasm', html: 'text/html' };
  const server = createServer((request, response) => {
    const path = request.url === '/' ? '/index.html' : request.url;
    const body = path === '/user.html' ? user : existsSync(join(web, path)) ? readFileSync(join(web, path)) : null;
    response.writeHead(body === null ? 404 : 200, { 'content-type': types[path.split('.').at(-1)] ?? 'text/plain' });
    response.end(body);
  });
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done({ origin: `http://127.0.0.1:${server.address().port}`, stop: () => server.close() })));
}

export async function pageTests(web, capball, full) {
  if (!browserIsThere()) {
    skip('the page in a browser', 'chromium or playwright-core is not installed: make test-web');
    return;
  }
  const browser = await openBrowser({ acceptDownloads: true });
  try {
    const page = browser.context.pages()[0], own = pathToFileURL(join(web, 'index.html')).href, seen = watch(page, own);
    await page.goto(own);
    await until(page, () => window.capballPage !== undefined);
    await settle(page);
    await seeTests(page, capball, full);
    await fileTests(page, full);
    if (full) await keyTests(page);
    await looks(page, full ? ['light', 'dark'] : ['light'], full ? [390, 768, 1600] : [390], tools().axe);
    await test('by file: no console message, no error, no request', () => assert.deepEqual(seen, []));
    if (full) await hostTests(browser, web);
  } finally {
    await browser.close();
  }
}

async function hostTests(browser, web) {
  const { origin, stop } = await serve(web);
  const page = await browser.context.newPage();
  await test('from a static host: no console message, no request but the page', async () => {
    const seen = watch(page, `${origin}/`);
    await page.goto(`${origin}/`);
    await until(page, () => window.capballPage !== undefined);
    await page.click('[data-sample=clusters]');
    await until(page, () => /rows are outside/.test(document.getElementById('ball').textContent));
    assert.deepEqual(seen.filter((line) => !line.includes('favicon')), []);
  });
  await test('the npm package in a browser', async () => {
    await page.goto(`${origin}/user.html`);
    await until(page, () => document.title === '1');
  });
  await page.close();
  stop();
}
