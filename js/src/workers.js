// Workers of a page by the address of their script.

/** Returns whether a script is of this page's origin, or not of a server at all. */
export const isOwn = (address) => !/^https?:/.test(address) || new URL(address).origin === globalThis.location?.origin;

/** Starts a worker whose script is of another origin: by a script of this page that imports it. */
export function importedWorker(address, name) {
  const script = new Blob([`import ${JSON.stringify(String(address))};`], { type: 'text/javascript' });
  const link = URL.createObjectURL(script);
  setTimeout(() => URL.revokeObjectURL(link), 60000);
  return new Worker(link, { type: 'module', name });
}
