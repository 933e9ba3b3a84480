// Bytes of models for the engine's read callback, in a worker or in Node: `size`, and read(offset, to), which fills the
// front of `to` and returns how many bytes it has filled.
import { LoomError } from '../errors.js';
import { nodeModule } from './module.js';

const PART = 1 << 20;

/** A Blob or File, in a worker. */
export class BlobSource {
  constructor(blob) {
    this.blob = blob;
    this.size = blob.size;
    this.reader = new FileReaderSync();
  }
  read(offset, to) {
    const part = this.blob.slice(offset, offset + to.length);
    to.set(new Uint8Array(this.reader.readAsArrayBuffer(part)));
    return part.size;
  }
  close() {}
}

/** A file of the origin's private file system, in a worker. */
export class OpfsSource {
  /** @param {FileSystemFileHandle} handle */
  static async open(handle) {
    return new OpfsSource(await handle.createSyncAccessHandle({ mode: 'read-only' }));
  }
  constructor(access) {
    this.access = access;
    this.size = access.getSize();
  }
  // Shared memory is not taken everywhere, so the bytes go there by a part that stays in the processor's cache.
  read(offset, to) {
    if (to.buffer instanceof ArrayBuffer) return this.access.read(to, { at: offset });
    this.part ??= new Uint8Array(PART);
    let done = 0;
    for (let got = PART; done < to.length && got === PART; done += got) {
      const part = this.part.subarray(0, Math.min(PART, to.length - done));
      got = this.access.read(part, { at: offset + done });
      to.set(part.subarray(0, got), done);
    }
    return done;
  }
  close() {
    this.access.close();
  }
}

/** Fetches an address; throws where no server answers, or where it has no such file. */
export async function fetchFile(address, options) {
  const response = await fetch(address, options).catch((error) => {
    const why = 'no server answers, or it does not allow this page (Access-Control-Allow-Origin)';
    throw new LoomError('IoError', `${address}: ${why}: ${error.message}`, { cause: error });
  });
  if (response.ok && !response.headers.get('content-type')?.startsWith('text/html')) return response;
  await response.body?.cancel();
  // Servers of single-page applications answer with their page where there is no file.
  const got = response.ok ? 'with a page of HTML, expected a file' : response.status;
  throw new LoomError('NotFound', `${address}: the server answered ${got}`);
}

/** A file of a server that knows ranges, in a worker. */
export class RangeSource {
  /** Opens an address: its parts are read, or the whole file where the server gives no parts. */
  static async open(address) {
    // More than one byte, since the servers of vite take the last one of "bytes=0-0" for the end of the file.
    const response = await fetchFile(address, { headers: { Range: 'bytes=0-7' } });
    const size = /^bytes 0-\d+\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1];
    if (response.status === 200) return new BlobSource(await response.blob());
    await response.body?.cancel();
    if (size === undefined) {
      const why = 'the server gives a part of the file without its size (Content-Range, which other origins expose)';
      throw new LoomError('Unsupported', `${address}: ${why}`);
    }
    return new RangeSource(address, Number(size));
  }
  constructor(address, size) {
    this.address = String(address);
    this.size = size;
  }
  read(offset, to) {
    const request = new XMLHttpRequest();
    request.open('GET', this.address, false);
    request.responseType = 'arraybuffer';
    request.setRequestHeader('Range', `bytes=${offset}-${offset + to.length - 1}`);
    request.send();
    if (request.status !== 206) {
      throw new LoomError('ReadFailed', `${this.address}: the server answered ${request.status} for ${to.length} bytes at ${offset}, expected 206`);
    }
    to.set(new Uint8Array(request.response));
    return request.response.byteLength;
  }
  close() {}
}

/** A file, in Node. */
export class NodeFileSource {
  constructor(path) {
    this.fs = nodeModule('node:fs');
    this.file = this.fs.openSync(path, 'r');
    this.size = this.fs.fstatSync(this.file).size;
  }
  read(offset, to) {
    return this.fs.readSync(this.file, to, 0, to.length, offset);
  }
  close() {
    this.fs.closeSync(this.file);
  }
}
