// Conversations, each a file in the browser's own file system; in memory where there is none. The form is that of
// `loom chat`'s /save: {"loom_chat": 1, "messages": [..]}, with more members beside.
import { PageError } from './notice.js';
import { ownFiles } from './models.js';

const MOST_IMPORTED = 64 << 20;

async function folder() {
  const root = await ownFiles();
  return root && root.getDirectoryHandle('conversations', { create: true });
}

export class Conversations {
  constructor() {
    this.all = [];
    this.saving = new Map(); // the last write of each
  }

  async load() {
    const kept = await folder();
    if (!kept) return;
    for await (const [name, handle] of kept.entries()) {
      try {
        this.all.push(checked(JSON.parse(await (await handle.getFile()).text())));
      } catch {
        await kept.removeEntry(name).catch(() => {}); // cut off while it was written for the first time
      }
    }
    this.all.sort((a, b) => b.changed - a.changed);
  }

  create() {
    const conversation = { loom_chat: 1, id: crypto.randomUUID(), title: '', changed: Date.now(), messages: [] };
    this.all.unshift(conversation);
    return conversation;
  }

  /** Writes a conversation after the writes before it; the file is replaced as a whole. */
  save(conversation) {
    conversation.changed = Date.now();
    const before = this.saving.get(conversation.id) ?? Promise.resolve();
    const text = JSON.stringify(conversation);
    const write = before
      .catch(() => {})
      .then(async () => {
        const kept = await folder();
        if (!kept) return;
        const file = await (await kept.getFileHandle(`${conversation.id}.json`, { create: true })).createWritable();
        await file.write(text);
        await file.close();
      });
    this.saving.set(conversation.id, write);
    return write;
  }

  async remove(conversation) {
    this.all = this.all.filter((other) => other !== conversation);
    await this.saving.get(conversation.id)?.catch(() => {});
    const kept = await folder();
    await kept?.removeEntry(`${conversation.id}.json`).catch(() => {});
  }

  /** All conversations that hold a message, as one text. */
  exported() {
    return JSON.stringify(
      { loom_conversations: 1, conversations: this.all.filter((c) => c.messages.length > 0) },
      null,
      1,
    );
  }

  /** Adds the conversations of a file: an export of this page, or one conversation of `loom chat`. Returns how many. */
  async import(file) {
    if (file.size > MOST_IMPORTED) throw new PageError(`${file.name} is too large for a file of conversations.`);
    let read;
    try {
      const json = JSON.parse(await file.text());
      const list = json.conversations ?? [json];
      read = list.map((one) => ({ ...checked(one), id: crypto.randomUUID() }));
    } catch {
      throw new PageError(`${file.name} holds no conversations of this page or of loom chat.`);
    }
    this.all.unshift(...read);
    for (const conversation of read) await this.save(conversation);
    return read.length;
  }
}

const isText = (value) => typeof value === 'string';

/** Takes what a conversation has, and refuses what is none. */
function checked(json) {
  if (json?.loom_chat !== 1 || !Array.isArray(json.messages)) throw new TypeError('no conversation');
  const messages = json.messages.map((message) => {
    if (!['system', 'user', 'assistant'].includes(message?.role) || !isText(message.content))
      throw new TypeError('no message');
    const { role, content, facts } = message;
    return facts && typeof facts === 'object' ? { role, content, facts } : { role, content };
  });
  // Proofs of answers that `loom chat` saved beside the messages, by the number of the message.
  const isReceipt = (each) => Number.isInteger(each?.message) && each.message < messages.length && each.receipt;
  const receipts = Array.isArray(json.receipts) ? json.receipts.filter(isReceipt) : [];
  const first = messages.find((message) => message.role === 'user')?.content ?? '';
  return {
    loom_chat: 1,
    id: isText(json.id) ? json.id : crypto.randomUUID(),
    title: isText(json.title) && json.title ? json.title : titleOf(first),
    changed: Number(json.changed) || Date.now(),
    messages,
    ...(receipts.length > 0 && { receipts }),
  };
}

/** The beginning of a question. */
export const titleOf = (text) => text.trim().replace(/\s+/g, ' ').slice(0, 48);
