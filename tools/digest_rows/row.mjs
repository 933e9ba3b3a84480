// A row of tools/digest_matrix and of tools/web_table.mjs through the npm package:
//   row.mjs native|FOLDER [MODEL] [--threads N] [--data FOLDER]
// FOLDER has loom.wasm and loom-threads.wasm. row.c says what it prints; --data adds tokenizers and an embedding.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { pathToFileURL } from 'node:url';
import * as api from '../../js/src/node.js';
import { valuesOf } from './values.mjs';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { threads: { type: 'string', default: '1' }, data: { type: 'string' } },
});
const [kind, model] = positionals;
const module = (name) => pathToFileURL(`${kind}/${name}.wasm`).href;
const threads = Number(flags.threads);
const engine = await api.createEngine(
  kind === 'native' ? { kind, threads } : { kind: 'wasm', threads, module: module('loom'), threadsModule: module('loom-threads') },
);
const read = flags.data && ((name) => new Uint8Array(readFileSync(`${flags.data}/${name}`)));
console.log(JSON.stringify(await valuesOf(api, engine, { model, read })));
engine.dispose();
