// The package in Node.
import { usePlatform } from './engine.js';
import * as platform from './platform/node.js';

usePlatform(platform);

export * from './index.js';
