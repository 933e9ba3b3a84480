// The page of `loom page` in a real browser:  node page.mjs PROGRAM [--only NAME] [--screenshots FOLDER]
//
// Needs chromium, the npm packages of tools/npm_packages.sh page and the WebAssembly module; without one of them the
// test ends with 77, which CTest shows as skipped. The model is that of tools/fetch_data.sh. Figures are reported and
// never compared with a limit in seconds.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import vm from 'node:vm';
import { hiddenTabs } from './page_hidden.mjs';
import { Missing, Program, StaticServer, dataFile, npmFolder, readmeModel, tool } from './page_servers.mjs';
import { SWIFTSHADER, SWIFTSHADER_PATIENCE, troubles } from './page_trouble.mjs';
import { ANSWER, HASH, QUESTION, THREADS, Visit, brokenRules, check, same } from './page_visit.mjs';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

// Tests that a short run leaves out: LOOM_OUTSIDE=whole runs all.
const LONG = [
  'a_graphics_card_gives_the_same_hash',
  'a_lost_graphics_card_leaves_the_answer_to_the_processor',
  'stop_keeps_the_text',
  'a_browser_that_keeps_nothing_still_answers',
  'a_lost_worker_is_started_again',
  'conversations_go_out_and_come_in',
];
const isWhole = process.env.LOOM_OUTSIDE === 'whole';
const SCREENS = [
  ['dark', 390],
  ['light', 1280],
  ['dark', 1280],
  ['light', 390],
]; // a short run takes the first two

// Each test gets {browser, url, site, model, folder, program, screenshots, launch} and may return a line of figures.
const tests = {
  async answer_has_the_native_hash({ browser, url, model }) {
    const lines = [];
    for (const threads of THREADS) {
      const context = await browser.newContext();
      const visit = await Visit.open(context, url, `?threads=${threads}`);
      check(await visit.page.evaluate(() => self.crossOriginIsolated), 'the page is not isolated');
      await visit.openModel(model);
      // Counts how often the page's own thread has a turn while the answer is computed.
      await visit.page.evaluate(() => {
        window.gap = 0;
        let last = performance.now();
        window.beat = setInterval(() => {
          const now = performance.now();
          window.gap = Math.max(window.gap, now - last);
          last = now;
        }, 10);
      });
      const begun = Date.now();
      await visit.ask();
      const { text, hash, facts } = await visit.answered();
      const took = Date.now() - begun;
      const gap = await visit.page.evaluate(() => (clearInterval(window.beat), window.gap));
      same(text, ANSWER, 'the answer');
      same(hash, HASH, 'the hash');
      check((await visit.badge()).includes('good'), 'there is no tick although the native program has this model');
      check(gap < took / 2, `the page's thread was busy for ${gap} of ${took} ms`);
      lines.push(
        `${/[\d.]+ tokens per second/.exec(facts)}, ${threads} threads, the page paused ${Math.round(gap)} ms at most`,
      );
      await visit.close();
      await context.close();
    }
    return lines.join('; ');
  },

  async second_visit_comes_from_the_browser({ browser, url, model }) {
    const context = await browser.newContext();
    const first = await Visit.open(context, url);
    await first.openModel(model);
    await first.ask();
    await first.answered();
    await first.close();
    const second = await Visit.open(context, url);
    same(await second.page.textContent('.message.assistant .text'), ANSWER, 'the conversation that was kept');
    const begun = Date.now();
    await second.page.click('#models button.main');
    await second.page.waitForSelector('#question', { state: 'visible' });
    await second.page.click('#new-chat');
    await second.ask();
    await second.page.waitForFunction(() => document.querySelector('.message.assistant .text')?.textContent !== '');
    const took = Date.now() - begun;
    same((await second.answered()).hash, HASH, 'the hash from the kept file');
    check(!second.requests.some((request) => request.includes('/model/')), 'the model was fetched again');
    // Another tab on the same file, while this one has it open.
    const third = await Visit.open(context, url);
    await third.page.click('#models button.main');
    await third.page.waitForSelector('#question', { state: 'visible' });
    await third.page.click('#new-chat');
    await third.ask();
    same((await third.answered()).hash, HASH, 'the hash in a second tab');
    await third.close();
    await second.close();
    await context.close();
    return `first token ${took} ms after the click`;
  },

  async stop_keeps_the_text({ browser, url, model }) {
    const context = await browser.newContext();
    const visit = await Visit.open(context, url);
    await visit.openModel(model);
    const begun = Date.now();
    await visit.ask('Write a long story about a dog.');
    await visit.page.waitForFunction(
      () => (document.querySelector('.message.assistant .text')?.textContent ?? '').length > 10,
    );
    await visit.page.click('#stop');
    const { text, facts, hash } = await visit.answered();
    check(text.length > 10 && facts.includes('stopped') && hash === '', `after a stop: ${text}, ${facts}`);
    await visit.page.click('#new-chat');
    await visit.ask();
    same((await visit.answered()).hash, HASH, 'the hash after a stop');
    await visit.page.click('#new-chat');
    // Closing the page cuts an answer off and keeps its beginning.
    await visit.ask('Write a long story about a dog.');
    await visit.page.waitForFunction(
      () => ([...document.querySelectorAll('.message.assistant .text')].at(-1)?.textContent ?? '').length > 10,
    );
    await visit.page.waitForTimeout(1500);
    await visit.page.reload();
    await visit.ready();
    const kept = await visit.page.evaluate(
      () => [...document.querySelectorAll('.message.assistant')].at(-1).textContent,
    );
    check(kept.includes('cut off before its end'), `after a reload: ${kept}`);
    await visit.close();
    await context.close();
    return `${Date.now() - begun} ms`;
  },

  async the_service_worker_knows_every_file({ site }) {
    const text = readFileSync(path.join(site, 'sw.js'), 'utf8');
    const known = vm.runInNewContext(`${text.slice(0, text.indexOf('const HEADERS'))}; FILES`);
    const needed = new Set();
    const follow = (file) => {
      if (needed.has(file)) return;
      needed.add(file);
      const imports = readFileSync(path.join(site, file), 'utf8').matchAll(/(?:from|import|import\() ?'(\.[^']+)'/g);
      for (const [, name] of imports) follow(path.posix.join(path.posix.dirname(file), name));
    };
    const workers = ['creature', 'engine', 'keeper'].map((name) => `app/worker/${name}.js`);
    for (const first of ['app/main.js', ...workers, 'js/src/wasm/thread.js']) follow(first);
    same([...needed].filter((file) => !known.includes(file)).join(' '), '', 'scripts that sw.js does not name');
    same(known.filter((file) => file.endsWith('.js') && !needed.has(file)).join(' '), '', 'scripts that nothing loads');
    return `${known.length} files`;
  },

  async works_without_a_network({ browser, model, program }) {
    const server = await Program.start(program, [model]);
    const context = await browser.newContext();
    const visit = await Visit.open(context, server.url);
    await visit.openModel(model);
    await visit.page.evaluate(() => navigator.serviceWorker.ready.then(() => {}));
    await visit.page.waitForFunction(async () => (await caches.match('wasm/loom-lm-threads.wasm')) !== undefined);
    await server.stop();
    for (const threads of THREADS) {
      await visit.page.goto(`${server.url}?threads=${threads}`);
      await visit.ready();
      check(await visit.page.evaluate(() => self.crossOriginIsolated), 'the kept page is not isolated');
      await visit.page.click('#models button.main');
      await visit.page.waitForSelector('#question', { state: 'visible' });
      await visit.page.click('#new-chat');
      await visit.ask();
      same((await visit.answered()).hash, HASH, `the hash without a network, ${threads} threads`);
    }
    for (const tab of ['learn', 'graph']) await visit.page.click(`#tab-${tab}`);
    await visit.page.waitForFunction(() => document.getElementById('learn-hash').textContent !== '–');
    await visit.page.close();
    await context.close();
  },

  async any_static_host_will_do({ browser, site }) {
    const host = await StaticServer.start(site);
    for (const serviceWorkers of ['allow', 'block']) {
      const context = await browser.newContext({ serviceWorkers });
      const visit = await Visit.open(context, host.url);
      if (serviceWorkers === 'allow') {
        await visit.page.waitForFunction(
          () => self.crossOriginIsolated && document.documentElement.dataset.ready === '',
        );
      }
      const machine = await visit.page.textContent('#machine');
      same(machine.includes('does not isolate'), serviceWorkers === 'block', `what the page says: ${machine}`);
      await visit.page.click('#tab-learn');
      await visit.page.waitForFunction(() => document.getElementById('learn-hash').textContent !== '–');
      await visit.close();
      await context.close();
    }
    await host.stop();
  },

  async pages_are_accessible({ browser, url, model, screenshots }) {
    for (const [colorScheme, width] of isWhole ? SCREENS : SCREENS.slice(0, 2)) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: 844 } });
      const visit = await Visit.open(context, url);
      const look = async (name) => {
        const broken = await brokenRules(visit);
        same(broken.join('\n'), '', `rules of accessibility, ${name}, ${colorScheme}, ${width} pixels`);
        const wide = await visit.page.evaluate(() => document.documentElement.scrollWidth);
        check(wide <= width, `${name} is ${wide} pixels wide on a screen of ${width}`);
        if (screenshots) await visit.page.screenshot({ path: `${screenshots}/${name}-${colorScheme}-${width}.png` });
      };
      await visit.page.click('#new-chat');
      await look('start');
      for (const id of ['new-chat', 'export', 'import']) {
        const { x, width: wide } = await visit.page.locator(`#${id}`).boundingBox();
        check(x >= 0 && x + wide <= width, `${id} is at ${x} to ${x + wide} on a screen of ${width}`);
      }
      if (width === 390 || colorScheme === 'dark') {
        await visit.openModel(model);
        await visit.ask();
        await visit.answered();
        await visit.badge();
        await look('conversation');
      }
      await visit.page.focus('#tab-chat');
      await visit.page.keyboard.press('ArrowRight');
      await visit.page.waitForFunction(() => document.getElementById('learn-hash').textContent !== '–');
      await look('learn');
      await visit.page.keyboard.press('ArrowRight');
      await look('graph');
      await visit.page.keyboard.press('End');
      await visit.page.click('[data-line=poke]');
      await visit.page.waitForSelector('#creature-log .moment:nth-child(2)');
      await look('creature');
      await visit.close();
      await context.close();
    }
  },

  // Two tokens, which are the prompt and a step of decoding: SwiftShader, which plays a card on the processor, takes some
  // 20 s of processor time for each token, and the native program computes the hash for the same length.
  async a_graphics_card_gives_the_same_hash({ url, model, launch, program }) {
    const browser = await launch(...SWIFTSHADER);
    try {
      const visit = await Visit.open(await browser.newContext(), url);
      if (!(await visit.page.evaluate(async () => Boolean(await navigator.gpu?.requestAdapter())))) return 'no adapter';
      visit.page.setDefaultTimeout(SWIFTSHADER_PATIENCE);
      await visit.openModel(model);
      await visit.chooseGraphics();
      await visit.page.fill('#max-tokens', '2');
      await visit.ask();
      const { hash, facts, text } = await visit.answered();
      const asked = ['generate', model, '-n', '2', '--json', '-q', '-p', QUESTION];
      const native = JSON.parse(execFileSync(program, asked, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
      same(text, native.text, 'the answer of a graphics card');
      same(hash, native.hash, 'the hash of a graphics card');
      check(facts.includes('graphics card'), facts);
      check((await visit.badge()).includes('good'), 'no tick beside the hash of a graphics card');
      await visit.close();
      return /[\d.]+ tokens per second/.exec(facts)?.[0];
    } finally {
      await browser.close();
    }
  },

  async networks_learn({ browser, url, site, program }) {
    const context = await browser.newContext();
    const visit = await Visit.open(context, url);
    await visit.page.click('#tab-learn');
    const hashes = {};
    for (const rule of ['gradients', 'targets', 'gradients']) {
      await visit.page.selectOption('#rule', rule);
      await visit.page.waitForFunction(() => document.getElementById('learn-tick').textContent === '0');
      for (let i = 0; i < 8; ++i) {
        await visit.page.click('#learn-step');
        await visit.page.waitForFunction(
          (tick) => document.getElementById('learn-tick').textContent === String(tick),
          i + 1,
        );
      }
      const hash = await visit.page.getAttribute('#learn-hash', 'title');
      same(hashes[rule] ?? hash, hash, `the weights after 8 ticks, ${rule}, for the second time`);
      hashes[rule] = hash;
    }
    check(hashes.gradients !== hashes.targets, 'both rules gave the same weights');
    const native = await nativeLearning(site, program);
    for (const rule of Object.keys(native)) same(hashes[rule], native[rule], `the weights after 8 ticks, ${rule}`);
    await visit.page.click('#learn-run');
    await visit.page.waitForFunction(() => parseInt(document.getElementById('learn-right').textContent, 10) >= 99);
    await visit.page.click('#learn-run');
    await visit.close();
    await context.close();
    const compared = Object.keys(native).length > 0 ? 'as the native library' : 'not compared: koffi is missing';
    const [gradients, targets] = [hashes.gradients, hashes.targets].map((hash) => hash.slice(0, 8));
    return `after 8 ticks: gradients ${gradients}, targets ${targets}, ${compared}`;
  },

  async a_model_without_a_chat_template_continues_texts({ browser, url, model, folder, program }) {
    const bytes = readFileSync(model);
    const key = bytes.indexOf('tokenizer.chat_template');
    check(key > 0, 'the model has no key tokenizer.chat_template');
    bytes.write('general.none_template__', key); // of the same length; a key that nothing reads
    const file = path.join(folder, 'plain.gguf');
    writeFileSync(file, bytes);
    const beginning = 'The three primary colours are ';
    const asked = ['generate', file, '--raw', '-n', '12', '--json', '-q', '-p', beginning];
    const native = JSON.parse(execFileSync(program, asked, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
    const context = await browser.newContext();
    const visit = await Visit.open(context, url);
    await visit.openModel(file);
    check((await visit.page.textContent('#model-name')).includes('continues what you write'), 'no word about texts');
    check(await visit.page.isHidden('#system'), 'a system message, which nothing reads');
    await visit.page.click('#settings summary');
    await visit.page.fill('#max-tokens', '12');
    await visit.ask(beginning);
    const first = await visit.answered();
    same(first.text, native.text, 'the text that continues');
    same(first.hash, native.hash, 'its hash beside the native program');
    await visit.ask(' And ');
    const second = await visit.answered();
    const whole = [...asked.slice(0, -1), `${beginning}${first.text} And `];
    const later = JSON.parse(execFileSync(program, whole, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
    same(second.text, later.text, 'the text that continues further');
    await visit.close();
    await context.close();
    return first.hash.slice(0, 8);
  },

  async the_creature_is_that_of_the_terminal({ browser, url, folder, program }) {
    const guide = readFileSync(path.join(ROOT, 'docs/guide/creature.md'), 'utf8');
    const day = guide.slice(guide.indexOf('## Its first day'), guide.indexOf('## How it works'));
    const context = await browser.newContext({ acceptDownloads: true });
    const visit = await Visit.open(context, url);
    const { page } = visit;
    await page.click('#tab-creature');
    const state = async (moments) => {
      await page.waitForFunction(
        (count) => document.querySelectorAll('#creature-log .moment').length === count,
        moments,
      );
      await page.waitForFunction(() => document.getElementById('creature-hash').title !== '');
      return page.getAttribute('#creature-hash', 'title');
    };
    check((await state(1)).startsWith(/seed 7 {2}brain ([0-9a-f]{8})/.exec(day)[1]), 'the brain of seed 7');
    const lines = readFileSync(path.join(ROOT, 'examples/creature/first_day.txt'), 'utf8').split('\n');
    const said = lines.filter((line) => line && !line.startsWith('#'));
    for (const [i, line] of said.entries()) {
      await page.fill('#creature-line', line);
      await page.press('#creature-line', 'Enter');
      await state(i + 2);
    }
    const hash = await state(said.length + 1);
    same(hash, /brain ([0-9a-f]{64})\n```/.exec(day)[1], 'the brain after the first day');
    const texts = await page.$$eval('#creature-log pre', (all) => all.map((each) => each.textContent));
    for (const text of texts.slice(1)) check(day.includes(text), `not in docs/guide/creature.md:\n${text}`);

    // The file goes on in the terminal, and comes back.
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#creature-save')]);
    const mind = path.join(folder, 'mind.entity');
    await download.saveAs(mind);
    const terminal = path.join(path.dirname(program), 'creature');
    let where = 'the terminal program is not built';
    if (existsSync(terminal)) {
      const lived = execFileSync(terminal, ['--mind', mind, '--no-colour'], { input: 'good\n', encoding: 'utf8' });
      const after = /brain ([0-9a-f]{64})\s*$/.exec(lived)[1];
      await page.click('[data-line=good]');
      same(await state(said.length + 2), after, 'the brain beside that of the terminal program');
      await page.setInputFiles('#creature-file', mind);
      same(await state(said.length + 3), after, 'the brain that comes back from the terminal');
      where = 'as in the terminal program';
    }
    const bad = { name: 'no.entity', mimeType: '', buffer: Buffer.from('no brain') };
    await page.setInputFiles('#creature-file', bad);
    check((await visit.notice()).startsWith('no.entity holds no creature: '), await visit.notice());
    const kept = await page.getAttribute('#creature-hash', 'title');
    await page.reload();
    await visit.ready();
    await page.click('#tab-creature');
    same(await state(1), kept, 'the brain that this browser kept');
    await visit.close();
    await context.close();
    return `${hash.slice(0, 8)}, ${where}`;
  },

  async graphs_run_on_pictures_and_sounds({ browser, url, folder }) {
    const context = await browser.newContext();
    const visit = await Visit.open(context, url);
    await visit.page.click('#tab-graph');
    await visit.page.waitForSelector('#panel-graph:not([inert])'); // setInputFiles() does not look whether it may
    await visit.page.setInputFiles('#graph-file', { name: 'no.txt', mimeType: '', buffer: Buffer.from('no graph') });
    check((await visit.notice()).startsWith('no.txt is not an ONNX file.'), await visit.notice());
    await visit.page.click('#tab-learn');
    check(await visit.page.isHidden('#notice'), 'a message of the tab Graph is shown in the tab Learn');
    await visit.page.click('#tab-graph');
    const result = async (file, input) => {
      await visit.page.setInputFiles('#graph-file', file);
      await visit.page.waitForFunction(
        () => !document.getElementById('input-choose').hidden || !document.getElementById('notice').hidden,
      );
      check(
        await visit.page.isHidden('#notice'),
        `${path.basename(file)}: ${await visit.page.textContent('#notice-text')}`,
      );
      await visit.page.waitForFunction(
        (name) => document.getElementById('graph-state').textContent.startsWith(name),
        path.basename(file),
      );
      await visit.page.setInputFiles('#input-file', input);
      await visit.page.waitForFunction(
        () => document.querySelector('#graph-summary code') || !document.getElementById('notice').hidden,
      );
      check(await visit.page.isHidden('#notice'), `a result: ${await visit.page.textContent('#notice-text')}`);
      return visit.page.getAttribute('#graph-summary code', 'title');
    };
    const picture = path.join(ROOT, 'docs/same_bits.svg');
    writeFileSync(path.join(folder, 'tone.wav'), tone());
    const hashes = {
      classes: await result(dataFile('onnx/ch_ppocr_mobile_v2.0_cls_infer.onnx'), picture),
      sound: await result(dataFile('vad/silero_vad.onnx'), path.join(folder, 'tone.wav')),
      map: await result(dataFile('onnx/ch_PP-OCRv4_det_infer.onnx'), picture),
    };
    check(new Set(Object.values(hashes)).size === 3, 'three graphs gave fewer hashes');
    await visit.page.setInputFiles('#input-file', {
      name: 'no.png',
      mimeType: 'image/png',
      buffer: Buffer.from('no picture'),
    });
    check((await visit.notice()).includes('not a picture'), 'a broken picture');
    await visit.page.setInputFiles('#graph-file', { name: 'no.onnx', mimeType: '', buffer: Buffer.from('no graph') });
    await visit.page.waitForFunction(
      () => document.getElementById('graph-state').textContent === 'Drop an ONNX file here',
    );
    await visit.close();
    await context.close();
  },

  ...hiddenTabs,
  ...troubles,
};

/** Hashes of the weights that the native library learns in 8 ticks; none without the npm package koffi. */
async function nativeLearning(site, program) {
  let koffi;
  try {
    koffi = createRequire(path.join(npmFolder(), '../package/'))('koffi');
  } catch {
    return {};
  }
  const load = (file) => import(pathToFileURL(path.join(site, file)));
  const { createNativeCore } = await load('js/src/native/core.js');
  const { Library } = await load('js/src/engine/library.js');
  const { Learning } = await load('app/worker/learning.js');
  const { drawTask } = await load('app/tasks.js');
  const core = await createNativeCore({ library: path.resolve(path.dirname(program), '../libloom.so'), koffi });
  const learning = new Learning({ library: new Library(core) });
  const hashes = {};
  for (const rule of ['gradients', 'targets']) {
    await learning.learnCreate({ cells: 4, rule, rate: 0.05, ...drawTask('rings') });
    hashes[rule] = (await learning.learnTick({ ticks: 8, places: Float32Array.of(0, 0) })).hash;
  }
  learning.learnClose();
  return hashes;
}

/** Installs the page as docs/guide/browser.md has it ("On a host of your own") and returns the folder. */
function installed(folder, program) {
  const build = path.resolve(path.dirname(program), '..'),
    prefix = path.join(folder, 'site');
  execFileSync(tool('cmake'), ['--install', build, '--prefix', prefix, '--component', 'page'], { stdio: 'pipe' });
  const site = path.join(prefix, 'share/loom/web');
  // For Node, which compares by the native library.
  writeFileSync(path.join(site, 'package.json'), '{"type": "module"}');
  return site;
}

/** One second of a tone as a WAV file. */
function tone() {
  const samples = 16000,
    bytes = Buffer.alloc(44 + 2 * samples);
  bytes.write('RIFF', 0);
  bytes.writeUInt32LE(36 + 2 * samples, 4);
  bytes.write('WAVEfmt ', 8);
  [
    [16, 4],
    [1, 2],
    [1, 2],
    [16000, 4],
    [32000, 4],
    [2, 2],
    [16, 2],
  ].reduce((at, [value, size]) => {
    bytes[size === 4 ? 'writeUInt32LE' : 'writeUInt16LE'](value, at);
    return at + size;
  }, 16);
  bytes.write('data', 36);
  bytes.writeUInt32LE(2 * samples, 40);
  for (let i = 0; i < samples; ++i) bytes.writeInt16LE(Math.round(8000 * Math.sin(i / 5)), 44 + 2 * i);
  return bytes;
}

function option(name) {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

async function main() {
  const program = process.argv[2];
  const model = readmeModel();
  const { chromium } = createRequire(`${npmFolder()}/`)('playwright-core');
  const screenshots = option('--screenshots'),
    only = option('--only');
  if (screenshots) mkdirSync(screenshots, { recursive: true });
  const folder = mkdtempSync(path.join(tmpdir(), 'loom-page-'));
  const server = await Program.start(program, [model]);
  const launch = (...more) =>
    chromium.launch({
      executablePath: tool('chromium', 'chromium-browser', 'google-chrome'),
      args: ['--no-sandbox', ...more],
    });
  const browser = await launch();
  const site = installed(folder, program);
  let failed = 0;
  try {
    for (const [name, test] of Object.entries(tests)) {
      if (only ? !name.includes(only) : LONG.includes(name) && !isWhole) continue;
      const begun = Date.now();
      try {
        const figures = await test({ browser, url: server.url, site, model, folder, program, screenshots, launch });
        console.log(`passed  ${name}, ${Date.now() - begun} ms${figures ? `: ${figures}` : ''}`);
      } catch (error) {
        ++failed;
        console.log(
          `FAILED  ${name}, ${Date.now() - begun} ms: ${error.message.split('\n').slice(0, 12).join('\n  ')}`,
        );
        for (const context of browser.contexts()) {
          for (const page of context.pages()) {
            const shown = await Promise.race([page.innerText('main').catch(String), pause(5000, 'nothing in 5 s')]);
            console.log(`  the page showed: ${shown.replace(/\s+/g, ' ').slice(0, 1500)}`);
          }
          await context.close();
        }
      }
    }
  } finally {
    await browser.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  return failed === 0 ? 0 : 1;
}

main().then(
  (status) => process.exit(status),
  (error) => {
    console.log(error instanceof Missing ? `skipped: ${error.message}` : error.stack);
    process.exit(error instanceof Missing ? 77 : 1);
  },
);
