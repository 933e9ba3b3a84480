// README's answer and hash on the page of `loom page` in Firefox, by WebDriver BiDi:  node page_firefox.mjs PROGRAM
//
// Needs firefox-esr or firefox, the npm packages of tools/npm_packages.sh page, the WebAssembly module and the model of
// tools/fetch_data.sh; without a program or the module the test ends with 77.
import { createRequire } from 'node:module';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { Missing, Program, npmFolder, readmeModel, tool } from './page_servers.mjs';

const HASH = '99554f0dd10b063f3823862f0bd1ad96c7eb36c459042190987e614657b8bb7b';
const PATIENCE = 240000; // milliseconds, on a machine that is busy with other work

async function answer(browser, url, model, threads) {
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE);
  await page.goto(`${url}?threads=${threads}`);
  await page.waitForSelector('html[data-ready]');
  await (await page.$('#model-file')).uploadFile(model);
  await page.waitForSelector('#question', { visible: true });
  await page.click('#new-chat');
  await page.type('#question', 'What is the capital of France?');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.message.assistant .badge');
  const [isolated, badge, hash, facts, notice] = await page.evaluate(() => [
    self.crossOriginIsolated,
    document.querySelector('.badge').className,
    document.querySelector('.facts code').title,
    document.querySelector('.message.assistant .facts').textContent,
    document.getElementById('notice').hidden ? '' : document.getElementById('notice-text').textContent,
  ]);
  await page.close();
  if (!isolated || hash !== HASH || !badge.includes('good') || !facts.includes(`${threads} thread`)) {
    throw new Error(`${threads} threads, isolated: ${isolated}: ${hash}, ${badge}, ${facts} ${notice}`);
  }
  return facts;
}

async function main() {
  const program = process.argv[2];
  const model = readmeModel();
  const firefox = tool('firefox-esr', 'firefox');
  const puppeteer = (await import(pathToFileURL(createRequire(`${npmFolder()}/`).resolve('puppeteer-core')))).default;
  const server = await Program.start(program, [model]);
  const browser = await puppeteer.launch({
    browser: 'firefox',
    executablePath: firefox,
    headless: true,
    protocolTimeout: PATIENCE,
  });
  try {
    for (const threads of [1, 2]) console.log(`passed  ${await answer(browser, server.url, model, threads)}`);
  } finally {
    await browser.close();
    await server.stop();
  }
}

main().then(
  () => process.exit(0),
  (error) => {
    console.log(error instanceof Missing ? `skipped: ${error.message}` : error.stack);
    process.exit(error instanceof Missing ? 77 : 1);
  },
);
