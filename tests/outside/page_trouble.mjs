// Tests of the page with bad input and in trouble: {name: test}, as page.mjs runs them.
import { closeSync, openSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ANSWER, HASH, PATIENCE, Visit, check, same } from './page_visit.mjs';

// The browser's watchdog ends a graphics process that is busy for long, as SwiftShader is.
export const SWIFTSHADER_PATIENCE = Math.max(PATIENCE, 900000);
export const SWIFTSHADER = [
  '--disable-gpu-watchdog',
  '--enable-unsafe-webgpu',
  '--enable-features=Vulkan',
  '--use-webgpu-adapter=swiftshader',
];

export const troubles = {
  async conversations_go_out_and_come_in({ browser, url, folder }) {
    const context = await browser.newContext();
    const visit = await Visit.open(context, url);
    const messages = [
      { role: 'user', content: 'Hello <b>you</b>' },
      { role: 'assistant', content: 'Hi.' },
    ];
    const file = path.join(folder, 'one.json');
    const receipts = [{ message: 1, receipt: { loom_receipt: 1, digest: '00' } }];
    writeFileSync(file, JSON.stringify({ loom_chat: 1, messages, receipts }));
    await visit.page.setInputFiles('#import-file', file);
    await visit.page.waitForSelector('text=Hello <b>you</b>');
    const [download] = await Promise.all([visit.page.waitForEvent('download'), visit.page.click('#export')]);
    const exported = JSON.parse(readFileSync(await download.path(), 'utf8'));
    same(JSON.stringify(exported.conversations[0].messages), JSON.stringify(messages), 'what was exported');
    same(JSON.stringify(exported.conversations[0].receipts), JSON.stringify(receipts), 'the receipts of a file');
    for (const bad of [
      '',
      '[]',
      '{"loom_chat":1}',
      '{"loom_chat":1,"messages":[{"role":"user"}]}',
      '{"conversations":[3]}',
    ]) {
      await visit.page.setInputFiles('#import-file', {
        name: 'bad.json',
        mimeType: 'application/json',
        buffer: Buffer.from(bad),
      });
      check((await visit.notice()).includes('holds no conversations'), `a file with ${bad}`);
      await visit.page.click('#notice-close');
    }
    await visit.close();
    await context.close();
  },

  async bad_files_are_refused_in_a_sentence({ browser, url, model, folder }) {
    const context = await browser.newContext();
    const visit = await Visit.open(context, url);
    const torn = path.join(folder, 'torn.gguf'),
      huge = path.join(folder, 'huge.gguf');
    writeFileSync(torn, readFileSync(model).subarray(0, 20 << 20));
    closeSync(openSync(huge, 'w'));
    truncateSync(huge, 5e9); // a sparse file
    const cases = [
      [{ name: 'empty.gguf', mimeType: '', buffer: Buffer.alloc(0) }, /empty/],
      [{ name: 'text.gguf', mimeType: '', buffer: Buffer.from('no model at all') }, /not a GGUF/],
      [{ name: 'net.onnx', mimeType: '', buffer: Buffer.from([8, 7, 18, 4]) }, /tab Graph/],
      [
        { name: 'head.gguf', mimeType: '', buffer: Buffer.from('GGUF\x03\0\0\0') },
        /^head.gguf cannot be opened: .*fetch it again/,
      ],
      [torn, /^torn.gguf cannot be opened: .*past the end of the file/],
      [huge, /5\.0 GB.*3\.8 GB/],
    ];
    const sentences = [];
    for (const [file, sentence] of cases) {
      await visit.choose(file);
      const notice = await visit.notice();
      check(
        sentence.test(notice) && /^[A-Z0-9a-z].*[.!?]$/s.test(notice) && notice.split('\n').length === 1,
        `${file.name ?? file}: ${notice}`,
      );
      sentences.push(notice);
      await visit.page.click('#notice-close');
      await visit.page.waitForSelector('#start', { state: 'visible' });
    }
    check(await visit.page.isHidden('#kept'), 'a file that is no model was kept');
    // The page goes on, by a file that is dropped.
    const transfer = await visit.page.evaluateHandle(
      async ([address, name]) => {
        const given = new DataTransfer();
        given.items.add(new File([await (await fetch(address)).blob()], name));
        return given;
      },
      [`${url}model/model.gguf`, path.basename(model)],
    );
    await visit.page.dispatchEvent('#drop', 'drop', { dataTransfer: transfer });
    await visit.page.waitForSelector('#question', { state: 'visible' });
    await visit.ask();
    same((await visit.answered()).hash, HASH, 'the hash after bad files');
    await visit.close();
    await context.close();
    return sentences.map((text) => `\n          ${text}`).join('');
  },

  async a_browser_that_keeps_nothing_still_answers({ browser, url, model }) {
    for (const trouble of ['none', 'full', 'quota']) {
      const context = await browser.newContext();
      if (trouble === 'none')
        await context.addInitScript(
          () => (StorageManager.prototype.getDirectory = () => Promise.reject(new DOMException('', 'SecurityError'))),
        );
      if (trouble === 'full')
        await context.addInitScript(() => (StorageManager.prototype.estimate = async () => ({ quota: 1e6, usage: 0 })));
      const visit = await Visit.open(context, url);
      if (trouble === 'quota') {
        const session = await context.newCDPSession(visit.page);
        await session.send('Storage.overrideQuotaForOrigin', { origin: url.slice(0, -1), quotaSize: 30e6 });
        await visit.page.evaluate(() => (StorageManager.prototype.estimate = async () => ({})));
      }
      await visit.openModel(model);
      const notice = await visit.notice();
      check(
        trouble === 'none' ? notice.includes('keeps no files') : notice.includes('no room'),
        `${trouble}: ${notice}`,
      );
      await visit.ask();
      same((await visit.answered()).hash, HASH, `the hash, ${trouble}`);
      await visit.page.close();
      await context.close();
    }
  },

  async a_lost_graphics_card_leaves_the_answer_to_the_processor({ url, model, launch }) {
    const browser = await launch(...SWIFTSHADER);
    try {
      const context = await browser.newContext();
      await context.addInitScript(() => {
        if (!self.GPUAdapter) return;
        const { requestDevice } = GPUAdapter.prototype;
        GPUAdapter.prototype.requestDevice = async function (...args) {
          return (window.card = await requestDevice.apply(this, args));
        };
      });
      const visit = await Visit.open(context, url);
      if (!(await visit.page.evaluate(async () => Boolean(await navigator.gpu?.requestAdapter())))) return 'no adapter';
      visit.page.setDefaultTimeout(SWIFTSHADER_PATIENCE);
      await visit.openModel(model);
      await visit.chooseGraphics();
      await visit.ask();
      // After the first word, or before it where the adapter is slow, as a processor that plays the card.
      const first = () => document.querySelector('.message.assistant .text')?.textContent !== '';
      const words = await visit.page.waitForFunction(first, undefined, { timeout: 30000 }).catch(() => undefined);
      await visit.page.evaluate(() => window.card.destroy());
      const { text, hash, facts } = await visit.answered();
      same(text, ANSWER, 'the answer after the card was lost');
      same(hash, HASH, 'the hash after the card was lost');
      check(facts.includes('CPU'), `the device of the answer: ${facts}`);
      check((await visit.notice()).includes('graphics card was lost'), await visit.notice());
      same(await visit.page.inputValue('#device'), 'cpu', 'the device of the next answer');
      await visit.page.click('#new-chat');
      await visit.ask();
      same((await visit.answered()).hash, HASH, 'the hash of the next answer');
      await visit.close();
      return words === undefined ? 'lost before the first word' : 'lost after the first word';
    } finally {
      await browser.close();
    }
  },

  async a_lost_worker_is_started_again({ browser, url, model }) {
    const context = await browser.newContext();
    const visit = await Visit.open(context, url);
    await visit.openModel(model);
    for (const way of [
      () =>
        setTimeout(() => {
          throw new Error('killed');
        }),
      () => self.close(),
    ]) {
      await visit.ask('Write a long story about a dog.');
      await visit.page.waitForFunction(() => document.querySelector('.message.assistant .text')?.textContent !== '');
      const engine = visit.page.workers().find((worker) => worker.url().endsWith('worker/engine.js'));
      await engine.evaluate(way).catch(() => {});
      check((await visit.notice()).includes('engine stopped'), 'no sentence about the lost worker');
      await visit.page.click('#new-chat');
      await visit.ask();
      same((await visit.answered()).hash, HASH, 'the hash of a new worker');
    }
    await visit.page.close();
    await context.close();
  },
};
