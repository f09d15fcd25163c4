// The native command with plain loops, and files for both sides.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const command = join(process.env.BUILD, 'capball');
export const folder = mkdtempSync(join(tmpdir(), 'capball-web-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

export const path = (name) => join(folder, name);
export const bytes = (name) => new Uint8Array(readFileSync(path(name)));
export const text = (name) => readFileSync(path(name), 'utf8');

export function capball(...words) {
  return execFileSync(command, words, { cwd: folder, encoding: 'utf8', env: { ...process.env, CPB_ISA: 'plain' }, stdio: ['ignore', 'pipe', 'ignore'] });
}

/** Lines of a shell with the native command on its path. */
export function shell(lines) {
  return execFileSync('sh', ['-e'], { cwd: folder, input: lines.join('\n'), encoding: 'utf8', env: { ...process.env, PATH: `${process.env.BUILD}:${process.env.PATH}`, CPB_ISA: 'plain' }, stdio: ['pipe', 'pipe', 'pipe'] });
}

/** xorshift: the same numbers in every run. */
export function randomNumbers(seed) {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
export function randomRows(seed, rows, cols, Type = Float32Array) {
  const next = randomNumbers(seed), data = new Type(rows * cols);
  for (let i = 0; i < data.length; i++) data[i] = (next() + next() - 1) * (1 + (i % cols)) + (i % 7);
  return { data, rows, cols };
}

export function writeFvecs(name, { data, rows, cols }) {
  const view = new DataView(new ArrayBuffer(rows * (4 + 4 * cols)));
  for (let i = 0; i < rows; i++) {
    view.setInt32(i * (4 + 4 * cols), cols, true);
    for (let k = 0; k < cols; k++) view.setFloat32(i * (4 + 4 * cols) + 4 + 4 * k, data[i * cols + k], true);
  }
  writeFileSync(path(name), new Uint8Array(view.buffer));
}

const CODES = new Map([[Float32Array, '<f4'], [Float64Array, '<f8'], [Uint8Array, '|u1'], [Int8Array, '|i1']]);
export function npyBytes({ data, rows, cols }) {
  const start = `{'descr': '${CODES.get(data.constructor)}', 'fortran_order': False, 'shape': (${rows}, ${cols}), }`;
  const header = start.padEnd(64 * Math.ceil((start.length + 11) / 64) - 11) + '\n';
  const head = Buffer.from(`\x93NUMPY\x01\x00\0\0${header}`, 'latin1');
  head.writeUInt16LE(header.length, 8);
  return Buffer.concat([head, Buffer.from(data.buffer, data.byteOffset, data.byteLength)]);
}
export const writeNpy = (name, rows) => writeFileSync(path(name), npyBytes(rows));
export const writeText = (name, content) => writeFileSync(path(name), content);

/** The numbers of a .npy file as a typed array. */
export function readNpy(name) {
  const file = readFileSync(path(name)), start = 10 + file.readUInt16LE(8), header = file.toString('latin1', 10, start);
  const Type = { f4: Float32Array, f8: Float64Array, i4: Int32Array, u1: Uint8Array }[/'descr': '.(..)'/.exec(header)[1]];
  return new Type(file.buffer.slice(file.byteOffset + start, file.byteOffset + file.length));
}
