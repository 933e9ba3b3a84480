// The log of a conversation: messages, what is known about an answer, and text that grows.
import { byId, make } from './dom.js';

const STOPS = {
  cancelled: 'stopped',
  length: 'cut at the longest answer',
  context: 'cut, the conversation is full',
  interrupted: 'cut off before its end',
};

/** Facts about an answer as elements: the hash beside the native one, tokens per second, device. */
function factsOf({ hash, native, nativeVersion, tokens, tokensPerSecond, device, threads, stop }) {
  const shown = [];
  const short = (text) => make('code', { title: text }, text.slice(0, 8));
  if (hash && native === hash) {
    shown.push(make('span', { className: 'badge good' }, '✓ same hash as native ', short(hash)));
  } else if (hash && native) {
    shown.push(make('span', { className: 'badge bad' }, 'not the native hash: ', short(hash), ' and ', short(native)));
  } else if (hash) {
    shown.push(make('span', {}, 'hash ', short(hash)));
  }
  if (hash && native === undefined && nativeVersion) shown.push(make('span', {}, 'comparing'));
  if (STOPS[stop]) shown.push(make('span', {}, STOPS[stop]));
  if (tokens) shown.push(make('span', {}, `${tokens} tokens`));
  if (tokensPerSecond) shown.push(make('span', {}, `${tokensPerSecond.toFixed(1)} tokens per second`));
  if (device) shown.push(make('span', {}, `${device}, ${threads} ${threads === 1 ? 'thread' : 'threads'}`));
  return shown;
}

export class Log {
  constructor() {
    this.element = byId('log');
  }

  show(messages) {
    this.element.replaceChildren();
    for (const message of messages) if (message.role !== 'system') this.add(message);
    if (this.element.childElementCount === 0) {
      this.element.append(make('p', { className: 'blank' }, 'Ask the first question below.'));
    }
    this.toEnd();
  }

  add(message) {
    this.element.querySelector('.blank')?.remove();
    const who = make('span', { className: 'hidden' }, message.role === 'user' ? 'You: ' : 'Answer: ');
    const text = make('div', { className: 'text' }, message.content);
    const facts = make('div', { className: 'facts' });
    const element = make('article', { className: `message ${message.role}` }, who, text, facts);
    this.element.append(element);
    const entry = { element, text, facts };
    this.update(entry, message);
    return entry;
  }

  update(entry, message) {
    entry.facts.replaceChildren(...(message.facts ? factsOf(message.facts) : []));
  }

  /** Adds a piece to an answer; the view follows it unless the person has scrolled up. */
  grow(entry, piece) {
    const follows = this.element.scrollHeight - this.element.scrollTop - this.element.clientHeight < 80;
    entry.text.append(piece);
    if (follows) this.toEnd();
  }

  wait(entry, waits) {
    entry.element.classList.toggle('waiting', waits);
    this.element.setAttribute('aria-busy', String(waits));
    this.toEnd();
  }

  toEnd() {
    this.element.scrollTop = this.element.scrollHeight;
  }
}
