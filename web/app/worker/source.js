// Reads a file for the engine's read callback, which cannot wait: FileReaderSync, with one window for small reads.

const WINDOW = 1 << 20;

export class FileSource {
  /** @param {Blob} blob */
  constructor(blob) {
    this.blob = blob;
    this.size = blob.size;
    this.reader = new FileReaderSync();
    this.window = new Uint8Array(0);
    this.windowAt = 0;
  }

  /** Fills `to` from `offset` on and returns how many bytes there were. */
  read(offset, to) {
    const length = Math.min(to.length, this.size - offset);
    if (length <= 0) return 0;
    if (length >= WINDOW) {
      to.set(this.bytes(offset, length));
      return length;
    }
    if (offset < this.windowAt || offset + length > this.windowAt + this.window.length) {
      this.window = this.bytes(offset, Math.min(WINDOW, this.size - offset));
      this.windowAt = offset;
    }
    to.set(this.window.subarray(offset - this.windowAt, offset - this.windowAt + length));
    return length;
  }

  bytes(offset, length) {
    return new Uint8Array(this.reader.readAsArrayBuffer(this.blob.slice(offset, offset + length)));
  }
}
