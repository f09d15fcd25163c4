// The part of WASI preview 1 that the readers of the library use: read-only files held in memory, and a clock.

const OK = 0, BADF = 8, NOENT = 44, NOSYS = 52, NOTDIR = 54, SPIPE = 70;
const ROOT = 3, FIRST_FILE = 4;
const DIRECTORY = 3, REGULAR_FILE = 4;

/** Imports of `wasi_snapshot_preview1`. memory() returns the current ArrayBuffer; files maps names to bytes. */
export function createWasi(memory, files, env = {}) {
  const open = new Map(); // fd -> {bytes, at}
  const view = () => new DataView(memory());
  const bytesAt = (pointer, length) => new Uint8Array(memory(), pointer, length);
  const variables = Object.entries(env).map(([key, value]) => new TextEncoder().encode(`${key}=${value}\0`));

  const readInto = (file, vectors, count, at) => {
    let done = 0;
    for (let i = 0; i < count; i++) {
      const pointer = view().getUint32(vectors + 8 * i, true), length = view().getUint32(vectors + 8 * i + 4, true);
      const part = file.bytes.subarray(at + done, at + done + length);
      bytesAt(pointer, part.length).set(part);
      done += part.length;
      if (part.length < length) break;
    }
    return done;
  };
  const seekTo = (file, offset, whence) => {
    const from = whence === 0 ? 0 : whence === 1 ? file.at : file.bytes.length;
    file.at = from + Number(offset);
    return file.at;
  };

  const calls = {
    environ_sizes_get(count, size) {
      view().setUint32(count, variables.length, true);
      view().setUint32(size, variables.reduce((sum, variable) => sum + variable.length, 0), true);
      return OK;
    },
    environ_get(list, buffer) {
      for (const variable of variables) {
        view().setUint32(list, buffer, true);
        bytesAt(buffer, variable.length).set(variable);
        list += 4;
        buffer += variable.length;
      }
      return OK;
    },
    clock_time_get(_clock, _precision, time) {
      view().setBigUint64(time, BigInt(Math.round(performance.now() * 1e6)), true);
      return OK;
    },
    fd_prestat_get(fd, to) {
      if (fd !== ROOT) return BADF;
      view().setUint32(to, 0, true);
      view().setUint32(to + 4, 1, true);
      return OK;
    },
    fd_prestat_dir_name(_fd, to) {
      bytesAt(to, 1)[0] = 0x2f;
      return OK;
    },
    fd_fdstat_get(fd, to) {
      if (fd !== ROOT && !open.has(fd)) return BADF;
      bytesAt(to, 24).fill(0);
      view().setUint8(to, fd === ROOT ? DIRECTORY : REGULAR_FILE);
      view().setBigUint64(to + 8, ~0n, true);
      view().setBigUint64(to + 16, ~0n, true);
      return OK;
    },
    fd_filestat_get(fd, to) {
      if (!open.has(fd)) return BADF;
      bytesAt(to, 64).fill(0);
      view().setUint8(to + 16, REGULAR_FILE);
      view().setBigUint64(to + 32, BigInt(open.get(fd).bytes.length), true);
      return OK;
    },
    path_open(fd, _flags, path, length, _oflags, _rights, _inheriting, _fdflags, opened) {
      if (fd !== ROOT) return NOTDIR;
      const name = new TextDecoder().decode(bytesAt(path, length).slice());
      if (!files.has(name)) return NOENT;
      let next = FIRST_FILE;
      while (open.has(next)) next++;
      open.set(next, { bytes: files.get(name), at: 0 });
      view().setUint32(opened, next, true);
      return OK;
    },
    path_filestat_get: () => NOENT,
    fd_close: (fd) => (open.delete(fd) ? OK : BADF),
    fd_read(fd, vectors, count, got) {
      const file = open.get(fd);
      if (file === undefined) return BADF;
      const done = readInto(file, vectors, count, file.at);
      file.at += done;
      view().setUint32(got, done, true);
      return OK;
    },
    fd_pread(fd, vectors, count, offset, got) {
      if (!open.has(fd)) return BADF;
      view().setUint32(got, readInto(open.get(fd), vectors, count, Number(offset)), true);
      return OK;
    },
    fd_seek(fd, offset, whence, to) {
      if (!open.has(fd)) return SPIPE;
      view().setBigUint64(to, BigInt(seekTo(open.get(fd), offset, whence)), true);
      return OK;
    },
    fd_tell(fd, to) {
      if (!open.has(fd)) return SPIPE;
      view().setBigUint64(to, BigInt(open.get(fd).at), true);
      return OK;
    },
    proc_exit(code) {
      throw new Error(`capball.wasm stopped with code ${code}: out of memory`);
    },
  };
  return new Proxy(calls, { get: (target, name) => target[name] ?? (() => NOSYS) });
}
