// The tab Graph: an ONNX file, a picture or a sound, and what comes out.
import { byId, make, sizeText, takesFiles } from './dom.js';
import { Engine, usableThreads } from './engine.js';
import { pictureInput, roleOf, soundInput } from './media.js';
import { PageError, clearNotice, tell } from './notice.js';

const LARGEST_GRAPH = 2 ** 30;
const MOST_SCORES = 10;

const shapeText = (shape) => (shape?.length ? shape.join(' × ') : 'one value');

class Graph {
  constructor() {
    this.engine = new Engine(usableThreads(), () => this.forget());
    takesFiles(byId('graph-drop'), byId('graph-file'), (files) => this.take(files));
    byId('input-file').addEventListener('change', ({ target }) => (this.take([...target.files]), (target.value = '')));
    byId('graph-choose').addEventListener('click', () => byId('graph-file').click());
    byId('input-choose').addEventListener('click', () => byId('input-file').click());
  }

  forget() {
    this.info = undefined;
    byId('graph-state').textContent = 'Drop an ONNX file here';
    for (const id of ['input-choose', 'graph-options']) byId(id).hidden = true;
  }

  async take([file]) {
    if (this.isBusy) return;
    this.isBusy = true;
    clearNotice();
    try {
      if (file.name.toLowerCase().endsWith('.onnx')) await this.open(file);
      else await this.run(file);
    } catch (error) {
      tell(error);
    } finally {
      this.isBusy = false;
    }
  }

  async open(file) {
    if (file.size > LARGEST_GRAPH) {
      throw new PageError(
        `${file.name} has ${sizeText(file.size)}; this page opens graphs of at most ${sizeText(LARGEST_GRAPH)}.`,
      );
    }
    byId('graph-state').textContent = `Opening ${file.name}`;
    try {
      const info = await this.engine.call('graphOpen', { bytes: await file.arrayBuffer(), name: file.name });
      Object.assign(this, { info, name: file.name, role: roleOf(info) });
    } catch (error) {
      this.forget();
      throw error;
    }
    const inputs = this.info.inputs.map(({ name, type, shape }) => `${name}: ${type}, ${shapeText(shape)}`).join('; ');
    byId('graph-state').textContent = `${file.name}. Inputs: ${inputs}.`;
    const takes = this.role.picture ? 'picture' : 'sound';
    byId('input-choose').textContent = `Choose a ${takes}`;
    byId('input-choose').hidden = !this.role.picture && !this.role.sound;
    byId('input-file').accept = this.role.picture ? 'image/*' : 'audio/*';
    byId('graph-options').hidden = !this.role.picture;
    byId('graph-result').hidden = true;
    if (byId('input-choose').hidden)
      throw new PageError(`${file.name} takes neither a picture nor a sound; loom run takes any inputs.`);
  }

  async run(file) {
    if (!this.info) throw new PageError(`${file.name} is not an ONNX file. Choose one first, then a picture or a sound.`);
    byId('graph-result').hidden = false;
    byId('graph-summary').textContent = 'Running';
    byId('graph-canvas').hidden = true;
    byId('graph-scores').replaceChildren();
    try {
      if (this.role.picture) await this.runPicture(file);
      else await this.runSound(file);
    } catch (error) {
      byId('graph-result').hidden = true;
      throw error;
    }
  }

  async runPicture(file) {
    const side = Math.min(2048, Math.max(32, byId('side').valueAsNumber || 224));
    const { input, bitmap, width, height } = await pictureInput(file, this.role, byId('scaling').value, side);
    const begun = performance.now();
    const { outputs, hash } = await this.engine.call('graphRun', { inputs: { [input.name]: input } });
    this.summary(`${width} × ${height} pixels`, begun, hash);
    const [output] = outputs;
    const [rows, columns] = output.shape.slice(-2);
    if (output.shape.length === 4 && rows > 1 && columns > 1) this.showMap(bitmap, output, rows, columns);
    else this.showScores(output);
  }

  async runSound(file) {
    const sound = await soundInput(file, this.info, this.role.sound);
    const begun = performance.now();
    const { samples, secondsPerFrame, ...rest } = sound;
    const { values, hash } = await this.engine.call('graphStream', rest, (done) => {
      byId('graph-summary').textContent = `Running, ${Math.round(100 * done)} %`;
    });
    this.summary(`${(samples.length / 16000).toFixed(1)} seconds of sound`, begun, hash);
    this.showCurve(samples, values);
    const most = values.reduce((best, value, i) => (value > values[best] ? i : best), 0);
    byId('graph-canvas').setAttribute(
      'aria-label',
      `The sound with the output over it; most, ${values[most].toFixed(3)}, ` +
        `after ${(most * secondsPerFrame).toFixed(1)} seconds`,
    );
  }

  summary(what, begun, hash) {
    const code = make('code', { title: hash }, hash.slice(0, 8));
    byId('graph-summary').replaceChildren(`${what}, ${Math.round(performance.now() - begun)} ms, hash `, code);
  }

  canvas(width, height) {
    const canvas = byId('graph-canvas');
    Object.assign(canvas, { width, height, hidden: false });
    return canvas.getContext('2d');
  }

  /** Shows a map of numbers over the picture. */
  showMap(bitmap, { data }, rows, columns) {
    const width = 640,
      height = Math.round((640 * bitmap.height) / bitmap.width);
    const context = this.canvas(width, height);
    context.drawImage(bitmap, 0, 0, width, height);
    let least = Infinity,
      most = -Infinity;
    for (let i = 0; i < rows * columns; ++i) ((least = Math.min(least, data[i])), (most = Math.max(most, data[i])));
    const image = new ImageData(columns, rows);
    for (let i = 0; i < rows * columns; ++i)
      image.data.set([214, 60, 42, (200 * (data[i] - least)) / (most - least || 1)], 4 * i);
    const small = new OffscreenCanvas(columns, rows);
    small.getContext('2d').putImageData(image, 0, 0);
    context.drawImage(small, 0, 0, width, height);
    byId('graph-canvas').setAttribute(
      'aria-label',
      `The picture with the output over it, from ${least.toFixed(3)} to ${most.toFixed(3)}`,
    );
  }

  showScores({ data, name }) {
    const values = Array.from(data, Number);
    const order = values
      .map((_, i) => i)
      .sort((a, b) => values[b] - values[a])
      .slice(0, MOST_SCORES);
    const [least, most] = [Math.min(...order.map((i) => values[i]), 0), Math.max(...order.map((i) => values[i]), 1e-9)];
    byId('graph-scores').replaceChildren(
      ...order.map((i) => {
        const meter = make('meter', { min: least, max: most, value: values[i], ariaLabel: `${name} ${i}` });
        return make('li', {}, make('span', {}, `Class ${i}`), meter, make('span', {}, values[i].toFixed(4)));
      }),
    );
  }

  showCurve(samples, values) {
    const width = 640,
      height = 160,
      context = this.canvas(width, height);
    const style = getComputedStyle(document.documentElement);
    context.fillStyle = style.getPropertyValue('--line');
    for (let x = 0; x < width; ++x) {
      const from = Math.floor((x * samples.length) / width),
        to = Math.floor(((x + 1) * samples.length) / width);
      let peak = 0;
      for (let i = from; i < to; ++i) peak = Math.max(peak, Math.abs(samples[i]));
      context.fillRect(x, height / 2 - (peak * height) / 2, 1, Math.max(1, peak * height));
    }
    context.strokeStyle = style.getPropertyValue('--accent');
    context.lineWidth = 2;
    context.beginPath();
    values.forEach((value, i) =>
      context.lineTo(((i + 0.5) * width) / values.length, height - 4 - Math.min(1, Math.max(0, value)) * (height - 8)),
    );
    context.stroke();
  }
}

/** Makes the tab. */
export async function startGraphs() {
  new Graph();
}
