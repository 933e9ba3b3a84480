// The tab Creature: the animal of examples/creature, with the same texts, pictures and brain file as in the terminal.
import { byId, make, saveBytes } from './dom.js';
import { ownFiles } from './models.js';
import { PageError, clearNotice, tell } from './notice.js';

const MOST_LINES = 40; // answers that are shown
const LARGEST_BRAIN = 16 << 20;
const KEPT = 'creature.entity';

class Creature {
  constructor() {
    this.waiting = new Map();
    this.last = 0;
    byId('creature-form').addEventListener('submit', (event) => (event.preventDefault(), this.said()));
    for (const button of document.querySelectorAll('[data-line]'))
      button.addEventListener('click', () => this.live(button.dataset.line));
    byId('creature-hatch').addEventListener('click', () => this.hatch(crypto.getRandomValues(new Uint32Array(1))[0]));
    byId('creature-save').addEventListener('click', () => saveBytes(KEPT, this.file));
    byId('creature-open').addEventListener('click', () => byId('creature-file').click());
    byId('creature-file').addEventListener('change', ({ target }) => (this.wake(target.files[0]), (target.value = '')));
  }

  async start() {
    const kept = await this.kept();
    if (kept) await this.show('wake', { file: kept }).catch((error) => (tell(error), this.hatch(7)));
    else await this.hatch(7);
  }

  call(name, args) {
    this.worker ??= this.startWorker();
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, name, args });
    });
  }

  startWorker() {
    const worker = new Worker(new URL('./worker/creature.js', import.meta.url), { type: 'module' });
    worker.onmessage = ({ data: { id, result, error } }) => {
      const { resolve, reject } = this.waiting.get(id);
      this.waiting.delete(id);
      if (error === undefined) resolve(result);
      else reject(new Error(error));
    };
    worker.onerror = (event) => {
      event.preventDefault();
      worker.terminate();
      this.worker = undefined;
      for (const { reject } of this.waiting.values()) reject(new PageError('The creature stopped; open the tab again.'));
      this.waiting.clear();
    };
    return worker;
  }

  /** Calls the worker and shows what there is to see. */
  async show(name, args, line) {
    const { text, name: who, hash, file } = await this.call(name, args);
    this.file = file;
    const log = byId('creature-log');
    const parts = line === undefined ? [] : [make('p', { className: 'said' }, line || 'wait')];
    log.append(make('div', { className: 'moment' }, ...parts, make('pre', {}, text.replace(/\n$/, ''))));
    while (log.childElementCount > MOST_LINES) log.firstElementChild.remove();
    log.scrollTop = log.scrollHeight;
    byId('creature-name').textContent = who;
    byId('creature-hash').textContent = hash.slice(0, 8);
    byId('creature-hash').title = hash;
    await this.keep(file);
  }

  async live(line) {
    clearNotice();
    await this.show('line', { line }, line).catch(tell);
  }

  said() {
    const input = byId('creature-line');
    const line = input.value;
    input.value = '';
    return this.live(line);
  }

  async hatch(seed) {
    byId('creature-log').replaceChildren();
    await this.show('hatch', { seed }).catch(tell);
  }

  async wake(file) {
    if (!file) return;
    clearNotice();
    try {
      if (file.size > LARGEST_BRAIN) throw new PageError(`${file.name} is too large for a creature's brain.`);
      await this.show('wake', { file: new Uint8Array(await file.arrayBuffer()) });
    } catch (error) {
      tell(error instanceof PageError ? error : new PageError(`${file.name} holds no creature: ${error.message}.`));
    }
  }

  async kept() {
    try {
      const root = await ownFiles();
      return new Uint8Array(await (await (await root.getFileHandle(KEPT)).getFile()).arrayBuffer());
    } catch {
      return undefined; // none yet, or a window that keeps no files
    }
  }

  /** Keeps the brain in this browser, as the terminal program does after every line. */
  async keep(file) {
    const root = await ownFiles();
    if (!root) return;
    const to = await (await root.getFileHandle(KEPT, { create: true })).createWritable();
    await to.write(file);
    await to.close();
  }
}

/** Makes the tab: the creature that was kept wakes, or one hatches. */
export async function startCreature() {
  await new Creature().start();
}
