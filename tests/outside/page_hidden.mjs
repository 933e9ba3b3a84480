// Tests of the page while its tab is hidden or frozen: {name: test}, as page.mjs runs them. playwright keeps every page
// visible, so these go through puppeteer, with Chromium's own rules for tabs in the background.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { HASH, PATIENCE, QUESTION, check, same } from './page_visit.mjs';
import { npmFolder, tool } from './page_servers.mjs';

const KEEP_AWAKE = [
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  '--disable-background-timer-throttling',
];

async function launchPuppeteer() {
  const puppeteer = (await import(pathToFileURL(createRequire(`${npmFolder()}/`).resolve('puppeteer-core')))).default;
  return puppeteer.launch({
    executablePath: tool('chromium', 'chromium-browser', 'google-chrome'),
    headless: true,
    args: ['--no-sandbox'],
    ignoreDefaultArgs: KEEP_AWAKE,
    protocolTimeout: PATIENCE,
  });
}

/** Asks the question in a tab, calls `meanwhile(tab, other)` after the first word, and returns the hash and the tab's events. */
async function answerWhile(browser, url, model, threads, meanwhile) {
  const tab = await browser.newPage();
  tab.setDefaultTimeout(PATIENCE);
  await tab.goto(`${url}?threads=${threads}`);
  await tab.waitForFunction(() => self.crossOriginIsolated && document.documentElement.dataset.ready === '');
  await (await tab.$('#model-file')).uploadFile(model);
  await tab.waitForSelector('#question', { visible: true });
  await tab.click('#new-chat');
  await tab.evaluate(() => {
    window.events = [];
    document.addEventListener('visibilitychange', () => window.events.push(document.visibilityState));
    for (const name of ['freeze', 'resume']) document.addEventListener(name, () => window.events.push(name));
  });
  await tab.type('#question', QUESTION);
  await tab.keyboard.press('Enter');
  await tab.waitForFunction(() => document.querySelector('.message.assistant .text') !== null, { polling: 20 });
  const other = await browser.newPage();
  await other.bringToFront();
  await meanwhile(tab);
  const ended = () => document.querySelector('.message.assistant .facts code')?.title;
  await tab.waitForFunction(ended, { polling: 100 });
  const [hash, isHidden, events] = await tab.evaluate(() => [
    document.querySelector('.message.assistant .facts code').title,
    document.visibilityState === 'hidden',
    window.events,
  ]);
  check(isHidden, 'the tab was visible when the answer ended');
  await other.close();
  await tab.close();
  return { hash, events };
}

export const hiddenTabs = {
  async a_hidden_tab_answers({ url, model }) {
    const browser = await launchPuppeteer();
    try {
      for (const threads of [1, 2]) {
        const { hash, events } = await answerWhile(browser, url, model, threads, () => {});
        same(hash, HASH, `the hash in a hidden tab, ${threads} threads`);
        same(events.join(' '), 'hidden', 'events of the tab');
      }
    } finally {
      await browser.close();
    }
  },

  async a_frozen_tab_goes_on_with_its_answer({ url, model }) {
    const browser = await launchPuppeteer();
    try {
      const freeze = async (tab) => {
        const session = await tab.createCDPSession();
        await session.send('Page.setWebLifecycleState', { state: 'frozen' });
        await new Promise((resolve) => setTimeout(resolve, 1000));
        await session.send('Page.setWebLifecycleState', { state: 'active' });
      };
      const { hash, events } = await answerWhile(browser, url, model, 2, freeze);
      same(hash, HASH, 'the hash after the tab was frozen');
      same(events.join(' '), 'hidden freeze resume', 'events of the tab');
    } finally {
      await browser.close();
    }
  },
};
