// How the page of `loom page` feels: first paint, the first token of a second visit, tasks of the page's thread, memory.
//   node bench/page.mjs PEERS [--program build/bin/loom] [--model FILE] [--rounds 3] [--threads 2] [--tokens 200]
//     [--minutes M] [--private] [--web FOLDER] [--json]
// PEERS is a folder where npm has installed playwright-core (tools/npm_packages.sh page). Each round is a new browser with
// an empty profile: a first visit that keeps the model, then a second one. --private has the profile of a private window;
// --web names the page's folder, to compare two. --minutes chats for so long instead, in one
// conversation after the other, and prints the memory of the browser's processes after each answer. Every line begins with
// the load of the machine, since times of a busy machine say little: beside times is the processor time of the browser's
// processes.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { launch, ROOT, spread } from './pages.mjs';

const DATA = process.env.LOOM_DATA ?? path.join(process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), '.cache'), 'loom/data');
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    program: { type: 'string', default: path.join(ROOT, 'build/bin/loom') },
    model: { type: 'string', default: path.join(DATA, 'llm/SmolLM2-135M-Instruct.Q4_1.gguf') },
    rounds: { type: 'string', default: '3' },
    threads: { type: 'string', default: '2' },
    tokens: { type: 'string', default: '200' },
    minutes: { type: 'string' },
    private: { type: 'boolean', default: false },
    web: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const [peers] = positionals;
if (peers === undefined || positionals.length > 1) {
  console.error('usage: node bench/page.mjs PEERS [--program FILE] [--model FILE] [--rounds N] [--threads N] [--tokens N] [--minutes M] [--private] [--web FOLDER] [--json]');
  process.exit(2);
}
const QUESTION = 'What is the capital of France?';
const STORIES = ['a dog', 'a lighthouse', 'the moon', 'an old clock', 'a river', 'two friends', 'a lost key', 'snow'];
const PATIENCE = 600000;
const load = () => os.loadavg()[0].toFixed(1);

/** Starts `loom page` and returns its address. It has no model, so it computes no answer of its own. */
function startProgram() {
  const running = spawn(flags.program, ['page', '--port', '0', ...(flags.web ? ['--web', flags.web] : [])], { stdio: ['ignore', 'pipe', 'inherit'] });
  return new Promise((resolve, reject) => {
    running.stdout.on('data', (text) => {
      const url = /^http:\S+/m.exec(text)?.[0];
      if (url) resolve({ url, stop: () => running.kill('SIGTERM') });
    });
    running.on('exit', (code) => reject(new Error(`${flags.program} page ended with ${code}`)));
  });
}

async function visit(context, url) {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  await page.addInitScript(() => {
    window.tasks = [];
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.tasks.push(duration);
    }).observe({ type: 'longtask', buffered: true });
  });
  await page.goto(`${url}?threads=${flags.threads}`);
  await page.waitForSelector('html[data-ready]', { state: 'attached' });
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
  const ready = await page.evaluate(() => performance.now());
  return { page, paint, ready };
}

async function ask(page, question, tokens) {
  await page.click('#new-chat');
  await page.evaluate((count) => (document.getElementById('max-tokens').value = count), tokens);
  await page.fill('#question', question);
  await page.press('#question', 'Enter');
}

const begun = () => {
  const all = document.querySelectorAll('.message.assistant .text');
  return all.length > 0 && all[all.length - 1].textContent !== '';
};

/** Numbers of the processes that a process has started, directly or not (Linux). */
function startedBy(parent) {
  const children = new Map();
  for (const name of fs.readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = statOf(name);
    if (stat) children.set(Number(stat[1]), [...(children.get(Number(stat[1])) ?? []), Number(name)]);
  }
  const all = [];
  for (const waiting = [parent]; waiting.length > 0;) {
    const started = children.get(waiting.pop()) ?? [];
    all.push(...started);
    waiting.push(...started);
  }
  return all;
}

/** Fields of /proc/PID/stat from the state on; undefined for a process that has ended. */
function statOf(pid) {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** Megabytes that these processes hold, shared pages counted once. */
function megabytesOf(pids) {
  let kilobytes = 0;
  for (const pid of pids) {
    try {
      kilobytes += Number(/^Pss:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
    } catch {
      // it has ended
    }
  }
  return kilobytes / 976.5625;
}

/** Milliseconds of processor time that these processes have taken. */
const processorTimeOf = (pids) =>
  pids.reduce((sum, pid) => {
    const stat = statOf(pid);
    return stat ? sum + 10 * (Number(stat[11]) + Number(stat[12])) : sum; // ticks of a hundredth of a second
  }, 0);

/** A browser with a profile on disk, as people have; --private keeps its files in memory and gives them through a pipe. */
async function openBrowser() {
  if (flags.private) {
    const browser = await launch(peers);
    return { context: await browser.newContext(), close: () => browser.close() };
  }
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'loom-profile-'));
  const context = await launch(peers, profile);
  const close = async () => {
    await context.close();
    fs.rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  return { context, close };
}

async function round(url) {
  const browser = await openBrowser();
  try {
    const { context } = browser;
    const first = await visit(context, url);
    await first.page.setInputFiles('#model-file', flags.model);
    await first.page.waitForSelector('#question', { state: 'visible' });
    await first.page.evaluate(() => (window.tasks.length = 0));
    await ask(first.page, 'Tell me a long story about a dog.', flags.tokens);
    await first.page.waitForSelector('#send', { state: 'visible' });
    const longest = await first.page.evaluate(() => Math.max(0, ...window.tasks));
    await first.page.close();

    const second = await visit(context, url);
    const processes = startedBy(process.pid);
    const spent = () => processorTimeOf(processes);
    const click = performance.now(), before = spent();
    await second.page.click('#models button.main');
    await second.page.waitForSelector('#question', { state: 'visible' });
    const opened = performance.now(), afterOpen = spent();
    await ask(second.page, QUESTION, 20);
    await second.page.waitForFunction(begun, undefined, { polling: 10 });
    const token = performance.now(), afterToken = spent();
    return {
      load: load(), paint: first.paint, paintAgain: second.paint, readyAgain: second.ready, open: opened - click,
      openProcessor: afterOpen - before, firstToken: token - click,
      firstTokenProcessor: afterToken - before, longestTask: longest,
    };
  } finally {
    await browser.close();
  }
}

async function talk(url, minutes) {
  const browser = await launch(peers);
  const rows = [];
  try {
    const { page } = await visit(await browser.newContext(), url);
    await page.setInputFiles('#model-file', flags.model);
    await page.waitForSelector('#question', { state: 'visible' });
    const begin = performance.now();
    for (let number = 0; performance.now() - begin < minutes * 60000; ++number) {
      await ask(page, `Tell me a long story about ${STORIES[number % STORIES.length]}.`, flags.tokens);
      await page.waitForTimeout(100);
      await page.waitForSelector('#send', { state: 'visible' });
      const facts = await page.evaluate(() => [...document.querySelectorAll('.message.assistant .facts')].at(-1).textContent);
      const megabytes = megabytesOf(startedBy(process.pid));
      rows.push({ minute: (performance.now() - begin) / 60000, megabytes, tokensPerSecond: Number(/([\d.]+) tokens per/.exec(facts)?.[1]) });
      const row = rows.at(-1);
      if (!flags.json) console.log(`load ${load()}  minute ${row.minute.toFixed(1)}  ${row.megabytes.toFixed(0)} MB  ${row.tokensPerSecond} tok/s`);
    }
  } finally {
    await browser.close();
  }
  return rows;
}

const program = await startProgram();
try {
  if (flags.minutes !== undefined) {
    const rows = await talk(program.url, Number(flags.minutes));
    const third = Math.floor(rows.length / 3);
    const mean = (part) => part.reduce((sum, { megabytes }) => sum + megabytes, 0) / part.length;
    const out = { answers: rows.length, firstThird: mean(rows.slice(0, third || 1)), lastThird: mean(rows.slice(-(third || 1))), rows };
    if (flags.json) console.log(JSON.stringify(out));
    else console.log(`${out.answers} answers; mean memory of the first third ${out.firstThird.toFixed(0)} MB, of the last ${out.lastThird.toFixed(0)} MB`);
  } else {
    const rows = [];
    for (let number = 0; number < Number(flags.rounds); ++number) {
      const row = await round(program.url);
      rows.push(row);
      const text = Object.entries(row).map(([key, value]) => `${key} ${typeof value === 'number' ? value.toFixed(0) : value}`);
      if (!flags.json) console.log(text.join('  '));
    }
    const keys = ['paint', 'paintAgain', 'open', 'openProcessor', 'firstToken', 'firstTokenProcessor', 'longestTask'];
    const out = Object.fromEntries(keys.map((key) => [key, spread(rows.map((row) => row[key]))]));
    if (flags.json) console.log(JSON.stringify({ rows, ...out }));
    else {
      for (const [key, { least, median, greatest }] of Object.entries(out))
        console.log(`| ${key} | ${[least, median, greatest].map((value) => value.toFixed(0)).join(' / ')} |`);
    }
  }
} finally {
  program.stop();
}
