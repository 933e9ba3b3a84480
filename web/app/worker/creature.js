// Worker that holds the creature's module (examples/creature/creature_page.h). Messages are {id, name, args}; answers
// {id, result} or {id, error}. Every result has what there is to see, the brain file, its hash and the creature's name.
import { compile } from '../../js/src/wasm/module.js';
import { Files, systemImports } from '../../js/src/wasm/system.js';

const FILE = '/creature.entity';

class Creature {
  static async start() {
    const module = await compile(new URL('../../wasm/creature.wasm', import.meta.url));
    const creature = new Creature();
    creature.files = new Files();
    const memory = () => creature.module.memory;
    const imports = { wasi_snapshot_preview1: systemImports(memory, { files: creature.files }) };
    // What the engine could ask for, such as a graphics card: the creature never does.
    for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
      if (kind !== 'function' || from === 'wasi_snapshot_preview1') continue;
      (imports[from] ??= {})[name] = () => {
        throw new Error(`the creature called ${name}`);
      };
    }
    creature.module = (await WebAssembly.instantiate(module, imports)).exports;
    creature.module._initialize();
    return creature;
  }

  text(pointer) {
    const bytes = new Uint8Array(this.module.memory.buffer);
    return new TextDecoder().decode(bytes.subarray(pointer >>> 0, bytes.indexOf(0, pointer >>> 0)));
  }

  withText(text, call) {
    const bytes = new TextEncoder().encode(text.replaceAll('\0', ' '));
    const pointer = this.module.malloc(bytes.length + 1);
    const to = new Uint8Array(this.module.memory.buffer, pointer >>> 0, bytes.length + 1);
    to.set(bytes);
    to[bytes.length] = 0;
    try {
      return call(pointer);
    } finally {
      this.module.free(pointer);
    }
  }

  /** What is seen after a call, with the brain as it now is. */
  state(seen) {
    if (!seen) throw new Error(this.text(this.module.creature_page_error()));
    const text = this.text(seen);
    const kept = this.withText(FILE, (path) => this.module.creature_page_keep(path));
    if (!kept) throw new Error(this.text(this.module.creature_page_error()));
    return {
      text,
      name: this.text(this.module.creature_page_name()),
      hash: this.text(this.module.creature_page_hash()),
      file: this.files.bytes(FILE),
    };
  }

  hatch({ seed }) {
    return this.state(this.module.creature_page_hatch(seed));
  }

  wake({ file }) {
    this.files.add('/woken.entity', file);
    return this.state(this.withText('/woken.entity', (path) => this.module.creature_page_wake(path)));
  }

  line({ line }) {
    return this.state(this.withText(line, (text) => this.module.creature_page_line(text)));
  }
}

const started = Creature.start();
started.catch(() => {}); // reported by each call
self.onmessage = async ({ data: { id, name, args } }) => {
  try {
    self.postMessage({ id, result: (await started)[name](args) });
  } catch (error) {
    self.postMessage({ id, error: error.message });
  }
};
