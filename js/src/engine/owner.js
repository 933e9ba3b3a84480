// Objects that own a handle of the library.
import { LoomError } from '../errors.js';

/** Base of objects that own a handle; dispose() releases it, the garbage collector otherwise. */
export class Owner {
  #handle;

  constructor(library, handle) {
    this.library = library;
    this.core = library.core;
    this.#handle = handle;
    library.collected.register(this, handle, this);
  }

  /** The handle; throws after dispose(). */
  get handle() {
    if (this.#handle === 0n) throw new LoomError('Disposed', `the ${this.constructor.name} was disposed`);
    return this.#handle;
  }

  get isDisposed() {
    return this.#handle === 0n;
  }

  dispose() {
    if (this.#handle === 0n) return;
    this.library.collected.unregister(this);
    const handle = this.#handle;
    this.#handle = 0n;
    this.library.release(handle);
  }

  [Symbol.dispose ?? Symbol.for('Symbol.dispose')]() {
    this.dispose();
  }

  /** Calls loom_NAME(handle, ...args) and throws its error. */
  run(name, ...args) {
    this.library.check(this.core.call(name, this.handle, ...args));
  }

  json(name, ...args) {
    return this.library.json(name, this.handle, ...args);
  }

  make(name, ...args) {
    return this.library.make(name, this.handle, ...args);
  }

  blob(name, ...args) {
    return this.library.blob(name, this.handle, ...args);
  }
}
