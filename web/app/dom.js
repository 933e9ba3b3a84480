// Helpers for elements.

/** Element with this id. */
export const byId = (id) => document.getElementById(id);

/** Makes an element: `properties` are set on it, children are elements or texts. */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Makes an SVG element with these attributes. */
export function makeSvg(tag, attributes = {}, text) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

/** Calls `take(files)` for files that are dropped on an element or chosen by its input. */
export function takesFiles(element, input, take) {
  input.addEventListener('change', () => {
    if (input.files.length > 0) take([...input.files]);
    input.value = '';
  });
  for (const name of ['dragenter', 'dragover']) {
    element.addEventListener(name, (event) => {
      event.preventDefault();
      element.classList.add('over');
    });
  }
  for (const name of ['dragleave', 'drop']) element.addEventListener(name, () => element.classList.remove('over'));
  element.addEventListener('drop', (event) => {
    event.preventDefault();
    const files = [...event.dataTransfer.files];
    if (files.length > 0) take(files);
  });
}

/** "98.4 MB" */
export function sizeText(bytes) {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
  let unit = 0;
  for (; bytes >= 1000 && unit < units.length - 1; ++unit) bytes /= 1000;
  return `${unit === 0 || bytes >= 100 ? Math.round(bytes) : bytes.toFixed(1)} ${units[unit]}`;
}

/** Saves a text as a file of the person's. */
export function saveFile(name, text, type = 'application/json') {
  saveBytes(name, text, type);
}

/** Saves bytes, or a text, as a file of the person's. */
export function saveBytes(name, bytes, type = 'application/octet-stream') {
  const url = URL.createObjectURL(new Blob([bytes], { type }));
  make('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
