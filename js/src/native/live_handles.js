// Handles of the native library that a worker owns, in memory that the thread which started it can read: memory of the
// library does not end with a worker that is killed.

const FIRST = 1024, MOST = 1 << 20; // handles

export class LiveHandles {
  #slots; // zero: free
  #places = new Map(); // slots by handle
  #free = [];
  #next = 0;

  constructor(memory = new SharedArrayBuffer(8 * FIRST, { maxByteLength: 8 * MOST })) {
    this.memory = memory;
    this.#slots = new BigUint64Array(memory); // grows with the memory
  }

  add(handle) {
    const slot = this.#free.pop() ?? this.#next++;
    if (slot >= MOST) return;
    if (slot >= this.#slots.length) this.memory.grow(Math.min(8 * MOST, 2 * this.memory.byteLength));
    this.#slots[slot] = handle;
    this.#places.set(handle, slot);
  }

  remove(handle) {
    const slot = this.#places.get(handle);
    if (slot === undefined) return;
    this.#places.delete(handle);
    this.#slots[slot] = 0n;
    this.#free.push(slot);
  }

  /** The handles that are owned, in another thread's LiveHandles too. */
  all() {
    return Array.from(this.#slots).filter((handle) => handle !== 0n);
  }
}
