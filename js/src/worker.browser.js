// The engine's worker on a page.
import * as platform from './platform/browser_engine.js';
import { serve } from './serve.js';

const take = serve({ post: (message, transfer = []) => globalThis.postMessage(message, transfer) }, platform);
globalThis.onmessage = ({ data }) => take(data);
