// The engine's worker in Node.
import { parentPort } from 'node:worker_threads';
import * as platform from './platform/node.js';
import { serve } from './serve.js';

const post = (message, transfer = []) => parentPort.postMessage(message, transfer);
const take = serve({ post, close: () => parentPort.close() }, platform);
parentPort.on('message', take);
