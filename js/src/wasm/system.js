// The little of a system that the module asks for (WASI preview 1): clocks, random bytes, and files that the program has
// given to it. Every other call is refused.

const SUCCESS = 0, BAD_DESCRIPTOR = 8, EXISTS = 20, INVALID = 28, IO = 29, IS_FOLDER = 31, NOT_FOUND = 44, UNKNOWN_CALL = 52;
const NOT_A_FOLDER = 54, READ_ONLY = 69;
const CHARACTER_DEVICE = 2, FOLDER = 3, FILE = 4; // types of files
const CREATE = 1, MUST_BE_FOLDER = 2, EXCLUSIVE = 4, TRUNCATE = 8; // flags of path_open
const APPEND = 1; // flag of a descriptor
const ROOT = 3; // the first descriptor after stdin, stdout and stderr
const ALL_RIGHTS = 0x1fffffffn;

/** Bytes that the module may read as a file, and write where it made the file itself. */
class MemoryFile {
  constructor(bytes = new Uint8Array(0)) {
    this.bytes = bytes;
    this.size = bytes.length;
  }
  read(offset, to) {
    const part = this.bytes.subarray(offset, Math.min(this.size, offset + to.length));
    to.set(part);
    return part.length;
  }
  write(offset, from) {
    const end = offset + from.length;
    if (end > this.bytes.length) {
      const larger = new Uint8Array(Math.max(end, 2 * this.bytes.length));
      larger.set(this.bytes.subarray(0, this.size));
      this.bytes = larger;
    }
    this.bytes.set(from, offset);
    this.size = Math.max(this.size, end);
  }
  resize(size) {
    if (size > this.size) this.write(size - 1, new Uint8Array(1));
    else this.bytes.fill(0, size, this.size);
    this.size = size;
  }
}

/** A tree of folders and files below "/". */
export class Files {
  constructor() {
    this.root = new Map();
  }

  /** Parts of a path, or null for one that leads out. */
  static parts(path) {
    const out = [];
    for (const part of path.split('/')) {
      if (part === '' || part === '.') continue;
      if (part !== '..') out.push(part);
      else if (out.pop() === undefined) return null;
    }
    return out;
  }

  /** The folder that holds the last part of a path, and that part; null where the folder is missing. */
  place(path) {
    const parts = Files.parts(path);
    if (parts === null) return null;
    const name = parts.pop() ?? '';
    let folder = this.root;
    for (const part of parts) {
      folder = folder.get(part);
      if (!(folder instanceof Map)) return null;
    }
    return { folder, name };
  }

  find(path) {
    const place = this.place(path);
    return place && (place.name === '' ? place.folder : place.folder.get(place.name));
  }

  /** Puts a file at a path and makes its folders. `file` is a Uint8Array or a source: size, read(offset, to). */
  add(path, file) {
    const parts = Files.parts(path);
    const name = parts.pop();
    let folder = this.root;
    for (const part of parts) {
      if (!folder.has(part)) folder.set(part, new Map());
      folder = folder.get(part);
    }
    folder.set(name, file instanceof Uint8Array ? new MemoryFile(file) : file);
  }

  remove(path) {
    const place = this.place(path);
    return place !== null && place.folder.delete(place.name);
  }

  /** A copy of the bytes of a file; undefined where there is none. */
  bytes(path) {
    const file = this.find(path);
    if (file === undefined || file === null || file instanceof Map) return undefined;
    const out = new Uint8Array(Number(file.size));
    for (let done = 0; done < out.length; ) {
      const got = file.read(done, out.subarray(done));
      if (got <= 0) break;
      done += got;
    }
    return out;
  }
}

/**
 * The imports "wasi_snapshot_preview1" of a module.
 * @param {() => WebAssembly.Memory} memory
 * @param {{files?: Files, print?: (text: string) => void}} [given]
 */
export function systemImports(memory, { files = new Files(), print = () => {} } = {}) {
  const view = () => new DataView(memory().buffer);
  const bytes = (at, size) => new Uint8Array(memory().buffer, at >>> 0, size >>> 0);
  const text = (at, size) => new TextDecoder().decode(bytes(at, size).slice());
  const open = new Map([[ROOT, { folder: files.root }]]);
  let next = ROOT + 1;

  const put64 = (at, value) => view().setBigUint64(at >>> 0, BigInt(value), true);
  const put32 = (at, value) => view().setUint32(at >>> 0, value, true);
  function putInfo(at, entry) {
    const to = at >>> 0;
    bytes(to, 64).fill(0);
    view().setUint8(to + 16, entry instanceof Map ? FOLDER : FILE);
    put64(to + 24, 1);
    if (!(entry instanceof Map)) put64(to + 32, entry.size);
    return SUCCESS;
  }
  // Calls body(part, done) for each piece of memory of a list until one is not whole; returns how many bytes went.
  function eachPiece(pieces, count, body) {
    let done = 0;
    for (let i = 0; i < count; ++i) {
      const at = (pieces >>> 0) + 8 * i;
      const part = bytes(view().getUint32(at, true), view().getUint32(at + 4, true));
      const went = body(part, done);
      done += went;
      if (went < part.length) break;
    }
    return done;
  }
  function readPieces(of, at, pieces, count, got) {
    try {
      put32(got, eachPiece(pieces, count, (to, done) => (to.length === 0 ? 0 : of.file.read(at + done, to))));
      return SUCCESS;
    } catch {
      return IO;
    }
  }
  const writePieces = (of, at, pieces, count) => eachPiece(pieces, count, (from, done) => (of.file.write(at + done, from), from.length));
  const fileOf = (descriptor) => {
    const of = open.get(descriptor);
    return of?.file ? of : null;
  };

  const calls = {
    environ_sizes_get: (count, size) => (put32(count, 0), put32(size, 0), SUCCESS),
    environ_get: () => SUCCESS,
    clock_time_get(clock, precision, to) {
      const ms = clock === 0 ? Date.now() : performance.now();
      put64(to, BigInt(Math.round(ms * 1e6)));
      return SUCCESS;
    },
    random_get(to, size) {
      const random = new Uint8Array(size >>> 0);
      for (let at = 0; at < random.length; at += 65536) crypto.getRandomValues(random.subarray(at, at + 65536));
      bytes(to, size).set(random);
      return SUCCESS;
    },
    fd_prestat_get(descriptor, to) {
      if (descriptor !== ROOT) return BAD_DESCRIPTOR;
      put32(to, 0);
      put32((to >>> 0) + 4, 1);
      return SUCCESS;
    },
    fd_prestat_dir_name: (descriptor, to) => (bytes(to, 1).set([47]), SUCCESS),
    fd_fdstat_get(descriptor, to) {
      const of = open.get(descriptor);
      if (!of && descriptor > 2) return BAD_DESCRIPTOR;
      bytes(to, 24).fill(0);
      view().setUint8(to >>> 0, !of ? CHARACTER_DEVICE : of.folder ? FOLDER : FILE);
      put64((to >>> 0) + 8, ALL_RIGHTS);
      put64((to >>> 0) + 16, ALL_RIGHTS);
      return SUCCESS;
    },
    fd_fdstat_set_flags: () => SUCCESS,
    fd_close: (descriptor) => (open.delete(descriptor) || descriptor <= 2 ? SUCCESS : BAD_DESCRIPTOR),
    fd_sync: () => SUCCESS,
    fd_write(descriptor, pieces, count, written) {
      const of = fileOf(descriptor);
      if (of) {
        if (!of.file.write) return READ_ONLY;
        if (of.appends) of.at = of.file.size;
        const went = writePieces(of, of.at, pieces, count);
        of.at += went;
        put32(written, went);
        return SUCCESS;
      }
      if (descriptor !== 1 && descriptor !== 2) return BAD_DESCRIPTOR;
      put32(written, eachPiece(pieces, count, (part) => (print(new TextDecoder().decode(part.slice())), part.length)));
      return SUCCESS;
    },
    fd_pwrite(descriptor, pieces, count, offset, written) {
      const of = fileOf(descriptor);
      if (!of) return BAD_DESCRIPTOR;
      if (!of.file.write) return READ_ONLY;
      put32(written, writePieces(of, Number(offset), pieces, count));
      return SUCCESS;
    },
    fd_read(descriptor, pieces, count, got) {
      const of = fileOf(descriptor);
      if (!of) return descriptor === 0 ? (put32(got, 0), SUCCESS) : BAD_DESCRIPTOR;
      const status = readPieces(of, of.at, pieces, count, got);
      if (status === SUCCESS) of.at += view().getUint32(got >>> 0, true);
      return status;
    },
    fd_pread(descriptor, pieces, count, offset, got) {
      const of = fileOf(descriptor);
      return of ? readPieces(of, Number(offset), pieces, count, got) : BAD_DESCRIPTOR;
    },
    fd_seek(descriptor, offset, whence, to) {
      const of = fileOf(descriptor);
      if (!of) return BAD_DESCRIPTOR;
      const base = [0, of.at, Number(of.file.size)][whence];
      if (base === undefined || base + Number(offset) < 0) return INVALID;
      of.at = base + Number(offset);
      put64(to, of.at);
      return SUCCESS;
    },
    fd_filestat_get(descriptor, to) {
      const of = open.get(descriptor);
      return of ? putInfo(to, of.folder ?? of.file) : BAD_DESCRIPTOR;
    },
    fd_filestat_set_size(descriptor, size) {
      const of = fileOf(descriptor);
      if (!of?.file.resize) return of ? READ_ONLY : BAD_DESCRIPTOR;
      of.file.resize(Number(size));
      return SUCCESS;
    },
    fd_readdir(descriptor, to, size, cookie, used) {
      const folder = open.get(descriptor)?.folder;
      if (!folder) return BAD_DESCRIPTOR;
      let at = 0;
      for (const [i, [name, entry]] of [...folder].entries()) {
        if (i < Number(cookie)) continue;
        const encoded = new TextEncoder().encode(name);
        const head = new DataView(new ArrayBuffer(24));
        head.setBigUint64(0, BigInt(i + 1), true);
        head.setUint32(16, encoded.length, true);
        head.setUint8(20, entry instanceof Map ? FOLDER : FILE);
        for (const part of [new Uint8Array(head.buffer), encoded]) {
          const fits = Math.min(part.length, (size >>> 0) - at);
          bytes((to >>> 0) + at, fits).set(part.subarray(0, fits));
          at += fits;
        }
        if (at === size >>> 0) break;
      }
      put32(used, at);
      return SUCCESS;
    },
    path_open(descriptor, lookup, path, length, flags, rights, inheriting, fileFlags, to) {
      const place = files.place(text(path, length));
      if (place === null) return NOT_FOUND;
      let entry = place.name === '' ? place.folder : place.folder.get(place.name);
      if (entry !== undefined && flags & EXCLUSIVE) return EXISTS;
      if (entry === undefined && !(flags & CREATE)) return NOT_FOUND;
      if (entry !== undefined && flags & MUST_BE_FOLDER && !(entry instanceof Map)) return NOT_A_FOLDER;
      if (entry === undefined) place.folder.set(place.name, (entry = new MemoryFile()));
      if (flags & TRUNCATE && !(entry instanceof Map)) {
        if (!entry.resize) return READ_ONLY;
        entry.resize(0);
      }
      open.set(next, entry instanceof Map ? { folder: entry } : { file: entry, at: 0, appends: (fileFlags & APPEND) !== 0 });
      put32(to, next++);
      return SUCCESS;
    },
    path_filestat_get(descriptor, flags, path, length, to) {
      const entry = files.find(text(path, length));
      return entry === undefined || entry === null ? NOT_FOUND : putInfo(to, entry);
    },
    path_create_directory(descriptor, path, length) {
      const place = files.place(text(path, length));
      if (place === null) return NOT_FOUND;
      if (place.name === '' || place.folder.has(place.name)) return EXISTS;
      place.folder.set(place.name, new Map());
      return SUCCESS;
    },
    path_rename(descriptor, from, fromLength, other, to, toLength) {
      const [old, place] = [files.place(text(from, fromLength)), files.place(text(to, toLength))];
      const entry = old?.folder.get(old.name);
      if (entry === undefined || place === null) return NOT_FOUND;
      old.folder.delete(old.name);
      place.folder.set(place.name, entry);
      return SUCCESS;
    },
    path_unlink_file(descriptor, path, length) {
      const place = files.place(text(path, length));
      const entry = place?.folder.get(place.name);
      if (entry === undefined) return NOT_FOUND;
      if (entry instanceof Map) return IS_FOLDER;
      place.folder.delete(place.name);
      return SUCCESS;
    },
    proc_exit(code) {
      throw new Error(`the module ended with ${code}`);
    },
  };
  return new Proxy(calls, { get: (known, name) => known[name] ?? (() => UNKNOWN_CALL) });
}
