// A page of `loom page` as the tests use it: what it asks for, what it complains about, questions and answers.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import process from 'node:process';
import { patienceMs } from '../../tools/patience.mjs';
import { npmFolder } from './page_servers.mjs';

export const QUESTION = 'What is the capital of France?';
export const ANSWER = 'The capital of France is Paris.';
export const HASH = '99554f0dd10b063f3823862f0bd1ad96c7eb36c459042190987e614657b8bb7b';
export const PATIENCE = patienceMs(240000);
export const THREADS = [1, 2];

export function check(holds, message) {
  if (!holds) throw new Error(message);
}

export function same(given, expected, what) {
  check(given === expected, `${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(given)}`);
}

/** A page of the test with what it asked for and complained about. */
export class Visit {
  constructor(context, url) {
    this.context = context;
    this.url = url;
    this.complaints = [];
    this.requests = [];
  }

  static async open(context, url, query = '') {
    const visit = new Visit(context, url);
    visit.page = await context.newPage();
    visit.page.setDefaultTimeout(PATIENCE);
    visit.page.on('request', (request) => visit.requests.push(request.url()));
    visit.page.on('pageerror', (error) => visit.complaints.push(String(error)));
    visit.page.on(
      'console',
      (message) => /Content Security Policy/.test(message.text()) && visit.complaints.push(message.text()),
    );
    await visit.page.goto(url + query);
    await visit.ready();
    return visit;
  }

  async ready() {
    // Where the host sends no headers of isolation, the page loads once more.
    await this.page.waitForSelector('html[data-ready]', { state: 'attached' });
  }

  async choose(file) {
    await this.page.setInputFiles('#model-file', file);
  }

  async openModel(file) {
    await this.choose(file);
    await this.page.waitForSelector('#question', { state: 'visible' });
  }

  async ask(question = QUESTION) {
    await this.page.fill('#question', question);
    await this.page.press('#question', 'Enter');
  }

  /** Waits for the end of the answer and returns {text, facts, hash}. */
  async answered() {
    await this.page.waitForSelector('#send', { state: 'visible' });
    const answer = await this.page.evaluate(() => {
      const last = [...document.querySelectorAll('.message.assistant')].at(-1);
      if (!last) return { notice: document.getElementById('notice-text').textContent };
      const facts = last.querySelector('.facts');
      const hash = facts.querySelector('code')?.title ?? '';
      return { text: last.querySelector('.text').textContent, facts: facts.textContent, hash };
    });
    check(answer.notice === undefined, `no answer: ${answer.notice}`);
    return answer;
  }

  /** Opens the model again on the graphics card. */
  async chooseGraphics() {
    await this.page.click('#settings summary');
    await this.page.selectOption('#device', 'gpu');
    await this.page.waitForFunction(
      () =>
        document.getElementById('machine').textContent.includes('graphics card') ||
        !document.getElementById('notice').hidden,
    );
    check(await this.page.isHidden('#notice'), `a graphics card: ${await this.page.textContent('#notice-text')}`);
  }

  async badge() {
    await this.page.waitForSelector('.message:last-child .badge');
    return this.page.getAttribute('.message:last-child .badge', 'class');
  }

  async notice() {
    await this.page.waitForSelector('#notice', { state: 'visible' });
    return this.page.textContent('#notice-text');
  }

  /** Fails for errors of the page, broken rules of content and requests to other origins. */
  close() {
    same(this.complaints.join('\n'), '', 'errors of the page');
    const foreign = this.requests.filter((url) => !url.startsWith(this.url) && !url.startsWith('blob:'));
    same(foreign.join(' '), '', 'requests to other origins');
    return this.page.close();
  }
}

const axeSource = () => readFileSync(createRequire(`${npmFolder()}/`).resolve('axe-core/axe.min.js'), 'utf8');

/** Names rules of accessibility that the page breaks. */
export async function brokenRules(visit) {
  return visit.page.evaluate(async (source) => {
    if (!window.axe) (0, window.eval)(source);
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 80)).join(' | ')}`);
  }, axeSource());
}
