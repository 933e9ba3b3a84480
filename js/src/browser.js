// The package on a page.
import { usePlatform } from './engine.js';
import * as platform from './platform/browser.js';

usePlatform(platform);

export * from './index.js';
