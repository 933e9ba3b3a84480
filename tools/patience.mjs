// How long tests and tools wait for pages and programs: LOOM_PATIENCE_MS, for a machine that is busy with other work.
import process from 'node:process';

/** Milliseconds of LOOM_PATIENCE_MS; `standard` where it is not set. Throws for what is no whole number above 0. */
export function patienceMs(standard) {
  const text = process.env.LOOM_PATIENCE_MS;
  if (text === undefined) return standard;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`LOOM_PATIENCE_MS is "${text}": expected milliseconds, 1 to 999999999`);
  return Number(text);
}
