// Reads a file for the engine's read callback, which cannot wait: by the handle of a file that the browser keeps, or by
// FileReaderSync, with one window for small reads.

const WINDOW = 1 << 20;
const PART = 1 << 20; // bytes that go to shared memory at once: they are still in the processor's cache when they are copied

/** A source {size, read(offset, to), close()}. Another tab may hold the handle, where browsers lock it. */
export async function openSource(file, handle) {
  try {
    return new FileSource(file, await handle.createSyncAccessHandle({ mode: 'read-only' }));
  } catch {
    return new FileSource(file, new BlobAccess(file));
  }
}

/** A Blob as FileSystemSyncAccessHandle reads a file. */
class BlobAccess {
  constructor(blob) {
    this.blob = blob;
    this.reader = new FileReaderSync();
  }
  read(to, { at }) {
    const part = new Uint8Array(this.reader.readAsArrayBuffer(this.blob.slice(at, at + to.length)));
    to.set(part);
    return part.length;
  }
  close() {}
}

class FileSource {
  constructor(file, access) {
    this.size = file.size;
    this.access = access;
    this.window = new Uint8Array(0);
    this.windowAt = 0;
  }

  /** Fills `to` from `offset` on and returns how many bytes there were. */
  read(offset, to) {
    const length = Math.min(to.length, this.size - offset);
    if (length <= 0) return 0;
    // A handle does not write to shared memory.
    if (length >= WINDOW && to.buffer instanceof ArrayBuffer) return this.access.read(to.subarray(0, length), { at: offset });
    if (length >= WINDOW) return this.throughPart(offset, to.subarray(0, length));
    if (offset < this.windowAt || offset + length > this.windowAt + this.window.length) {
      this.window = this.bytes(offset, Math.min(WINDOW, this.size - offset));
      this.windowAt = offset;
    }
    to.set(this.window.subarray(offset - this.windowAt, offset - this.windowAt + length));
    return length;
  }

  throughPart(offset, to) {
    this.part ??= new Uint8Array(PART);
    for (let done = 0; done < to.length; ) {
      const part = this.part.subarray(0, Math.min(PART, to.length - done));
      const count = this.access.read(part, { at: offset + done });
      to.set(part.subarray(0, count), done);
      done += count;
      if (count < part.length) return done;
    }
    return to.length;
  }

  bytes(offset, length) {
    const bytes = new Uint8Array(length);
    const count = this.access.read(bytes, { at: offset });
    return count === length ? bytes : bytes.subarray(0, count);
  }

  close() {
    this.access.close();
  }
}
