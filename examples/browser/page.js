// The thread of the device: it starts the worker that the module runs in, and shows what that prints.
import { GpuHost } from '../../js/src/abi/loom_gpu.js';

const lines = document.getElementById('lines');
const end = document.getElementById('end');
const query = new URLSearchParams(location.search);
let text = '';
if (query.has('hold')) document.body.append(Object.assign(new Image(), { src: '/hold', alt: '' })); // the page is not loaded before its report

function show(more) {
  text += more;
  lines.textContent = text;
  lines.scrollTop = lines.scrollHeight;
}

function finish(line) {
  end.textContent = line;
  end.className = line.startsWith('PASS') ? 'passed' : 'failed';
  if (query.has('report')) fetch('/report', { method: 'POST', body: text + '\n' + line });
}

if (!self.crossOriginIsolated) {
  finish('FAIL  the server must isolate this page: Cross-Origin-Opener-Policy, Cross-Origin-Embedder-Policy');
} else {
  try {
    const host = await GpuHost.open(navigator.gpu);
    const worker = new Worker('worker.js', { type: 'module' });
    worker.onerror = (event) => finish(`FAIL  ${event.message}`);
    worker.onmessage = ({ data }) => {
      if (data.calls) host.run(data.calls);
      else if (data.text !== undefined) show(data.text);
      else finish(text.trimEnd().split('\n').pop());
    };
    worker.postMessage({ opened: host.opened, program: query.get('program'), args: query.getAll('arg') });
  } catch (error) {
    finish(`FAIL  ${error}`);
  }
}
