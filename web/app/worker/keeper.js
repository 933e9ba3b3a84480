// Worker that copies a model into the browser's own file system and hashes it on the way. Messages: {blob, name} or
// {url, name, size, sha256}. It answers {done} with a fraction, then {kept: {sha256, name, size, file}} or {error}.
import { Sha256 } from '../../js/src/wasm/sha256.js';

const PART = 4 << 20;

async function* partsOf({ blob, url, size }) {
  if (blob) {
    for (let at = 0; at < blob.size; at += PART) yield new Uint8Array(await blob.slice(at, at + PART).arrayBuffer());
    return;
  }
  for (let at = 0; at < size; at += PART) {
    const last = Math.min(at + PART, size) - 1;
    const answer = await fetch(url, { headers: { Range: `bytes=${at}-${last}` } });
    if (answer.status !== 206)
      throw new Error('The server does not send parts of the model; download the file and choose it here.');
    yield new Uint8Array(await answer.arrayBuffer());
  }
}

async function keep(request) {
  const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle('models', { create: true });
  const size = request.blob ? request.blob.size : request.size;
  const temporary = `incoming-${crypto.randomUUID()}`;
  const handle = await folder.getFileHandle(temporary, { create: true });
  const hash = new Sha256();
  let file = temporary;
  try {
    const access = await handle.createSyncAccessHandle();
    try {
      let at = 0;
      for await (const part of partsOf(request)) {
        if (access.write(part, { at }) !== part.length) throw new DOMException('', 'QuotaExceededError');
        hash.update(part);
        at += part.length;
        self.postMessage({ done: at / size });
      }
      if (at !== size) throw new Error(`The file ended after ${at} of ${size} bytes; choose it again.`);
      access.flush();
    } finally {
      access.close();
    }
    const sha256 = hash.finish();
    if (request.sha256 && request.sha256 !== sha256) {
      throw new Error('The model changed on its way: its SHA-256 is not the one that the server names. Open it again.');
    }
    if (handle.move) {
      await handle.move(sha256); // replaces a copy that is there
      file = sha256;
    }
    const kept = { sha256, name: request.name, size, file };
    const about = await (await folder.getFileHandle(`${sha256}.json`, { create: true })).createSyncAccessHandle();
    about.truncate(0);
    about.write(new TextEncoder().encode(JSON.stringify(kept)), { at: 0 });
    about.flush();
    about.close();
    return kept;
  } catch (error) {
    await folder.removeEntry(temporary).catch(() => {});
    throw error;
  }
}

self.onmessage = async ({ data }) => {
  try {
    self.postMessage({ kept: await keep(data) });
  } catch (error) {
    self.postMessage({ error: { name: error.name, message: error.message } });
  }
};
