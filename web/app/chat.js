// The tab Chat: a model, conversations with it, and the comparison with the native program.
import { byId, make, saveFile, sizeText, takesFiles } from './dom.js';
import { Conversations, titleOf } from './conversations.js';
import { hasGraphics } from './engine.js';
import { Log } from './messages.js';
import { checkModel, keepModel, keptFile, keptHandle, keptModels, removeLeftovers, removeModel } from './models.js';
import { nativeAnswer } from './native.js';
import { clearNotice, PageError, tell } from './notice.js';

const SAVE_EVERY = 1000; // milliseconds, while an answer grows

const NOT_A_MODEL = [
  'CorruptData',
  'Unsupported',
  'UnknownName',
  'UnknownKey',
  'ShapeMismatch',
  'InvalidConfig',
  'SizeOverflow',
  'LimitExceeded',
];

/** Names the file in an error of the engine, which knows it as bytes that come from a callback. */
function cannotOpen(name, { code, message }) {
  const why = message.replace(/^callback: /, '').replace(/\.$/, '');
  const hint = code === 'CorruptData' ? ' It may be cut off or changed: fetch it again.' : '';
  return Object.assign(new PageError(`${name} cannot be opened: ${why}.${hint}`), { code });
}

export class Chat {
  constructor(engine, native, showMachine) {
    this.engine = engine;
    this.native = native;
    this.showMachine = showMachine;
    this.conversations = new Conversations();
    this.log = new Log();
    this.model = undefined; // {name, blob}, and of a kept one what keptModels() says
    this.isOpen = false; // the engine holds it
    this.isAnswering = false;
    engine.onLost = () => (this.isOpen = false);
    this.connect();
  }

  connect() {
    takesFiles(byId('drop'), byId('model-file'), ([file]) => this.openFile(file));
    byId('choose').addEventListener('click', () => byId('model-file').click());
    byId('change-model').addEventListener('click', () => this.showStart());
    byId('new-chat').addEventListener('click', () => this.select(this.conversations.create()));
    byId('export').addEventListener('click', () => saveFile('loom-conversations.json', this.conversations.exported()));
    byId('import').addEventListener('click', () => byId('import-file').click());
    byId('import-file').addEventListener('change', ({ target }) => this.import(target));
    byId('ask').addEventListener('submit', (event) => (event.preventDefault(), this.send()));
    byId('stop').addEventListener('click', () => this.engine.send('cancel'));
    byId('question').addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) (event.preventDefault(), this.send());
      if (event.key === 'Escape') this.engine.send('cancel');
    });
    byId('device-choice').hidden = !hasGraphics();
    byId('device').addEventListener('change', () => this.changeDevice());
    byId('question').addEventListener('input', ({ target }) => {
      target.style.height = 'auto';
      target.style.height = `${target.scrollHeight}px`;
    });
    addEventListener('pagehide', () => this.isAnswering && this.conversations.save(this.current));
  }

  async start() {
    await this.conversations.load();
    this.select(this.conversations.all[0] ?? this.conversations.create());
    await this.offerServed();
    const kept = await this.showStart();
    removeLeftovers().catch(() => {});
    // The engine starts while the person looks for the model.
    if (kept.length > 0 || this.native?.model) this.engine.call('about').catch(() => {});
  }

  // ---- models ----

  async offerServed() {
    const served = this.native?.model;
    if (!served) return;
    const button = byId('open-served');
    button.textContent = `Open ${served.name} (${sizeText(served.bytes)})`;
    button.hidden = false;
    button.addEventListener('click', () => this.openServed(served));
  }

  async openServed(served) {
    const kept = (await keptModels()).find((model) => model.sha256 === served.sha256);
    if (kept) return this.openKept(kept);
    const url = new URL(`./model/${encodeURIComponent(served.name)}`, location.href).href;
    return this.open((onProgress, signal) =>
      keepModel({ url, name: served.name, size: served.bytes, sha256: served.sha256 }, onProgress, signal),
    );
  }

  openFile(file) {
    return this.open(async (onProgress, signal) => {
      await checkModel(file);
      return keepModel({ blob: file, name: file.name, size: file.size }, onProgress, signal);
    });
  }

  openKept(model) {
    return this.open(async () => ({ model, file: await keptFile(model) }));
  }

  /** Copies a model and opens it, with progress and a way back. */
  async open(take) {
    const stopping = new AbortController();
    byId('loading-stop').onclick = () => stopping.abort(new PageError('Opening the model was cancelled.'));
    this.showPart('loading');
    try {
      clearNotice();
      this.progress('Copying the model into this browser', 0);
      const { model, file, why } = await take(
        (done) => this.progress('Copying the model into this browser', done),
        stopping.signal,
      );
      await this.load({ name: file.name, ...model, blob: file }, stopping.signal).catch(async (error) => {
        if (model && NOT_A_MODEL.includes(error.code)) await removeModel(model);
        throw error;
      });
      this.showConversation();
      if (why) tell(why);
    } catch (error) {
      await this.showStart();
      tell(error);
    }
  }

  async load(model, signal) {
    const stop = () => this.engine.lose('cancelled');
    signal?.addEventListener('abort', stop);
    try {
      const about = await this.engine.call('about');
      this.progress('Opening the model', 0);
      const device = byId('device').value;
      const progress = (done) => this.progress('Opening the model', done);
      const handle = await keptHandle(model);
      const { answers } = await this.engine.call('open', { file: model.blob, handle, device }, progress);
      this.answers = answers;
      this.model = model;
      this.isOpen = true;
      this.machine = { device: device === 'gpu' ? 'graphics card' : 'CPU', threads: about.threads };
      this.showMachine(this.machine);
      const what = answers ? '' : '. It brings no chat template, so it continues what you write.';
      byId('model-name').textContent = `${model.name}, ${sizeText(model.blob.size)}${what}`;
      byId('question').placeholder = answers ? 'Ask something' : 'Write the beginning of a text';
      for (const part of document.querySelectorAll('.of-answers')) part.hidden = !answers;
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw NOT_A_MODEL.includes(error.code) ? cannotOpen(model.name, error) : error;
    } finally {
      signal?.removeEventListener('abort', stop);
    }
  }

  /** Opens the model again on the other device; on the processor where the graphics card cannot be used. */
  async changeDevice() {
    this.engine.usesGraphics = byId('device').value === 'gpu';
    this.engine.stop();
    this.isOpen = false;
    if (!this.model) return;
    this.showPart('loading');
    this.progress('Opening the model', 0);
    try {
      await this.load(this.model);
    } catch (error) {
      tell(error);
      if (byId('device').value === 'gpu') {
        byId('device').value = 'cpu';
        return this.changeDevice();
      }
    }
    return this.showConversation();
  }

  /** Goes on with the processor after the graphics card was lost. */
  async leaveGraphics(error) {
    tell(error);
    byId('device').value = 'cpu';
    this.engine.usesGraphics = false;
    this.engine.stop();
    this.isOpen = false;
    await this.load(this.model);
  }

  progress(text, done) {
    byId('loading-text').textContent = text;
    byId('loading-bar').value = done;
  }

  showPart(shown) {
    for (const part of ['start', 'loading', 'conversation']) byId(part).hidden = part !== shown;
  }

  async showStart() {
    this.showPart('start');
    const kept = await keptModels();
    byId('kept').hidden = kept.length === 0;
    byId('models').replaceChildren(
      ...kept.map((model) => {
        const open = make('button', { className: 'main', onclick: () => this.openKept(model) }, 'Open');
        const remove = make('button', { className: 'plain', ariaLabel: `Remove ${model.name}` }, 'Remove');
        remove.onclick = async () => (await removeModel(model), this.showStart());
        const about = make(
          'div',
          { className: 'about' },
          model.name,
          make('span', {}, `${sizeText(model.size)}, SHA-256 ${model.sha256.slice(0, 12)}`),
        );
        return make('li', {}, about, open, remove);
      }),
    );
    return kept;
  }

  showConversation() {
    this.showPart('conversation');
    this.select(this.current);
    byId('question').focus();
  }

  // ---- conversations ----

  select(conversation) {
    if (this.isAnswering) return;
    this.current = conversation;
    this.conversations.all = this.conversations.all.filter((c) => c === conversation || c.messages.length > 0);
    this.log.show(conversation.messages);
    this.showList();
  }

  showList() {
    byId('conversations').replaceChildren(
      ...this.conversations.all.map((conversation) => {
        const title = conversation.title || 'New conversation';
        const open = make('button', { title, onclick: () => this.select(conversation) }, title);
        open.setAttribute('aria-current', String(conversation === this.current));
        const remove = make('button', { className: 'plain remove', ariaLabel: `Delete ${title}` }, '×');
        remove.onclick = () => this.remove(conversation);
        return make('li', {}, open, remove);
      }),
    );
  }

  async remove(conversation) {
    if (this.isAnswering && conversation === this.current) return;
    await this.conversations.remove(conversation);
    this.select(
      conversation === this.current ? (this.conversations.all[0] ?? this.conversations.create()) : this.current,
    );
  }

  async import(input) {
    const [file] = input.files;
    input.value = '';
    try {
      await this.conversations.import(file);
      this.select(this.conversations.all[0]);
    } catch (error) {
      tell(error);
    }
  }

  // ---- answers ----

  options() {
    const number = (id) => byId(id).valueAsNumber || 0;
    const temperature = Math.max(0, number('temperature'));
    return {
      maxTokens: Math.min(4096, Math.max(1, Math.floor(number('max-tokens')))),
      temperature,
      seed: temperature > 0 ? Math.max(0, Math.floor(number('seed'))) : 0, // nothing is drawn at temperature 0
    };
  }

  async send() {
    const written = byId('question').value;
    if (written.trim() === '' || this.isAnswering) return;
    const text = this.answers ? written.trim() : written; // blanks are part of a text that is continued
    clearNotice();
    const conversation = this.current;
    const system = byId('system').value.trim();
    if (conversation.messages.length === 0 && system) conversation.messages.push({ role: 'system', content: system });
    conversation.title ||= titleOf(text);
    const asked = { role: 'user', content: text };
    conversation.messages.push(asked);
    const question = this.log.add(asked);
    byId('question').value = '';
    byId('question').style.height = '';
    this.setAnswering(true);
    try {
      if (!this.isOpen)
        await this.load({ ...this.model, blob: this.model.sha256 ? await keptFile(this.model) : this.model.blob });
      await this.answer(conversation);
    } catch (error) {
      this.takeBack(conversation, asked, question);
      tell(error);
    } finally {
      this.setAnswering(false);
      this.showList();
      this.conversations.save(conversation).catch(tell);
    }
  }

  /** A question without any answer goes back to where it was written. */
  takeBack(conversation, asked, question) {
    if (conversation.messages.at(-1) !== asked) return;
    conversation.messages.pop();
    question.element.remove();
    if (byId('question').value === '') byId('question').value = asked.content;
    if (conversation.messages.length === 0) conversation.title = '';
  }

  async answer(conversation) {
    const options = this.options();
    const before = conversation.messages.map(({ role, content }) => ({ role, content }));
    const message = { role: 'assistant', content: '', facts: { stop: 'interrupted', ...this.machine } };
    const entry = this.log.add({ role: 'assistant', content: '' });
    this.log.wait(entry, true);
    let saved = performance.now();
    let known = ''; // of the answer as the engine writes it; after a lost graphics card again from its beginning
    const take = ({ text }) => {
      known += text;
      const fresh = known.slice(message.content.length);
      if (fresh === '') return;
      if (message.content === '') conversation.messages.push(message);
      message.content += fresh;
      this.log.grow(entry, fresh);
      if (performance.now() - saved < SAVE_EVERY) return;
      saved = performance.now();
      this.conversations.save(conversation).catch(() => {});
    };
    try {
      const ask = () => this.engine.call('answer', { messages: before, options }, take);
      const result = await ask().catch(async (error) => {
        if (error.code !== 'DeviceLost' || byId('device').value === 'cpu') throw error;
        await this.leaveGraphics(error);
        known = '';
        return ask(); // the processor writes the same text
      });
      // A card that is lost before its first word: the engine takes the processor without an error.
      if (this.engine.card?.isLost) await this.leaveGraphics({ code: 'DeviceLost' });
      this.finish(conversation, message, entry, result);
      if (message.facts.hash) this.compare(conversation, message, entry, before, options);
    } catch (error) {
      if (message.content === '') entry.element.remove();
      else this.log.update(entry, message);
      throw error;
    } finally {
      this.log.wait(entry, false);
    }
  }

  finish(conversation, message, entry, result) {
    if (message.content === '' && result.text !== '') conversation.messages.push(message);
    message.content = result.text;
    const { ids, tokensPerSecond, stopReason: stop } = result;
    const hash = stop === 'cancelled' ? '' : result.hash; // that of an answer that was stopped depends on when
    message.facts = { hash, tokens: ids.length, tokensPerSecond, stop, ...this.machine };
    if (!conversation.messages.includes(message)) conversation.messages.push(message);
    entry.text.textContent = message.content;
    this.log.update(entry, message);
  }

  /** Asks the program that serves the page for its hash; only for the model that it has itself. */
  async compare(conversation, message, entry, before, options) {
    const served = this.native?.model;
    if (!served || served.sha256 !== this.model.sha256 || !this.answers) return;
    this.log.update(entry, { facts: { ...message.facts, nativeVersion: this.native.version } });
    const native = await nativeAnswer(before, options);
    if (native) message.facts.native = native.hash;
    this.log.update(entry, message);
    this.conversations.save(conversation).catch(() => {});
  }

  setAnswering(is) {
    this.isAnswering = is;
    byId('send').hidden = is;
    byId('stop').hidden = !is;
    for (const id of ['new-chat', 'import', 'change-model', 'device']) byId(id).disabled = is;
  }
}
