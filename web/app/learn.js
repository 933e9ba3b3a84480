// The tab Learn: points in a plane, a network on its grid, and the view of both while it learns.
import { byId, makeSvg } from './dom.js';
import { Engine } from './engine.js';
import { tell } from './notice.js';
import { SAMPLES, drawTask } from './tasks.js';

const SIDE = 48; // places of the map in each direction
const TICKS_PER_FRAME = 4,
  HISTORY = 400;

const PLACES = Float32Array.from({ length: 2 * SIDE * SIDE }, (_, i) => {
  const place = i >> 1;
  const at = i % 2 === 0 ? place % SIDE : Math.floor(place / SIDE);
  return ((at + 0.5) / SIDE) * 2 - 1;
});

class Learn {
  constructor() {
    this.engine = new Engine(1, () => this.pause());
    this.isRunning = false;
    this.map = byId('map').getContext('2d');
    byId('learn-run').addEventListener('click', () => (this.isRunning ? this.pause() : this.run()));
    byId('learn-step').addEventListener('click', () => this.advance(1).catch(tell));
    byId('learn-reset').addEventListener('click', () => this.reset().catch(tell));
    for (const id of ['task', 'rule', 'depth', 'rate'])
      byId(id).addEventListener('change', () => this.reset().catch(tell));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.last && this.draw(this.last));
  }

  async reset() {
    const { points, targets } = drawTask(byId('task').value);
    Object.assign(this, { points, targets, errors: [] });
    await this.busy;
    const { columns } = await this.engine.call('learnCreate', {
      cells: Number(byId('depth').value),
      rule: byId('rule').value,
      rate: Number(byId('rate').value),
      points,
      targets,
    });
    this.drawGrid(columns);
    await this.advance(0);
  }

  async run() {
    this.isRunning = true;
    byId('learn-run').textContent = 'Pause';
    try {
      while (this.isRunning) {
        await this.advance(TICKS_PER_FRAME);
        await new Promise((resolve) => (document.hidden ? setTimeout(resolve, 200) : requestAnimationFrame(resolve)));
      }
    } catch (error) {
      tell(error);
    } finally {
      this.pause();
    }
  }

  pause() {
    this.isRunning = false;
    byId('learn-run').textContent = 'Start';
  }

  async advance(ticks) {
    this.busy = this.engine.call('learnTick', { ticks, places: PLACES }).catch(async (error) => {
      if (error.code !== 'EngineLost') throw error;
      await this.reset(); // a lost worker begins again
    });
    const now = await this.busy;
    if (!now) return;
    this.errors.push(...now.errors);
    this.errors.splice(0, this.errors.length - HISTORY);
    this.draw(now);
  }

  draw(now) {
    this.last = now;
    byId('learn-tick').textContent = now.tick;
    byId('learn-error').textContent = this.errors.length ? this.errors.at(-1).toFixed(4) : '–';
    byId('learn-right').textContent = now.right === undefined ? '–' : `${Math.round(100 * now.right)} %`;
    byId('learn-hash').textContent = now.hash.slice(0, 8);
    byId('learn-hash').title = now.hash;
    this.drawMap(now.judged);
    now.strengths.forEach((strength, cell) => {
      const rect = byId(`cell-${cell}`);
      rect.style.fill = `rgb(var(--cold) / ${(0.08 + 0.7 * Math.min(1, strength ?? 0)).toFixed(3)})`;
    });
    const greatest = Math.max(...this.errors, 1e-6);
    const line = this.errors.map(
      (error, i) => `${((i / (HISTORY - 1)) * 640).toFixed(1)},${(114 - (error / greatest) * 108).toFixed(1)}`,
    );
    byId('curve').replaceChildren(makeSvg('polyline', { points: line.join(' ') }));
  }

  drawMap(judged) {
    const colours = getComputedStyle(document.documentElement);
    const [warm, cold] = ['--warm', '--cold'].map((name) =>
      colours.getPropertyValue(name).trim().split(/\s+/).map(Number),
    );
    const image = new ImageData(SIDE, SIDE);
    judged.forEach((value, i) => {
      const [red, green, blue] = value > 0 ? warm : cold;
      image.data.set([red, green, blue, Math.round(40 + 150 * Math.min(1, Math.abs(value)))], 4 * i);
    });
    const { map } = this,
      size = map.canvas.width;
    const small = new OffscreenCanvas(SIDE, SIDE);
    small.getContext('2d').putImageData(image, 0, 0);
    map.clearRect(0, 0, size, size);
    map.imageSmoothingEnabled = true;
    map.drawImage(small, 0, 0, size, size);
    for (let i = 0; i < SAMPLES; ++i) {
      const [x, y] = [0, 1].map((axis) => ((this.points[2 * i + axis] + 1) / 2) * size);
      map.beginPath();
      map.arc(x, y, 3.5, 0, 2 * Math.PI);
      map.fillStyle = `rgb(${(this.targets[i] > 0 ? warm : cold).join(' ')})`;
      map.fill();
      map.strokeStyle = colours.getPropertyValue('--sheet');
      map.lineWidth = 1.2;
      map.stroke();
    }
  }

  drawGrid(columns) {
    const width = 84,
      gap = (640 - columns * width) / (columns + 1);
    const place = (cell) => [gap + (cell % columns) * (width + gap), 12 + Math.floor(cell / columns) * 56];
    const parts = [];
    for (let cell = 0; cell < 2 * columns; ++cell) {
      const [x, y] = place(cell);
      if (cell > 0) {
        const [fromX, fromY] = place(cell - 1);
        const same = fromY === y;
        parts.push(
          makeSvg(
            'line',
            same
              ? { x1: fromX + width, y1: y + 20, x2: x, y2: y + 20 }
              : { x1: fromX + width / 2, y1: fromY + 40, x2: x + width / 2, y2: y },
          ),
        );
      }
      parts.push(makeSvg('rect', { id: `cell-${cell}`, x, y, width, height: 40, rx: 8, fill: 'none' }));
      const values = cell === 2 * columns - 1 ? 1 : 16;
      parts.push(makeSvg('text', { x: x + width / 2, y: y + 25 }, `dense ${values}`));
    }
    byId('cells').replaceChildren(...parts);
  }
}

/** Makes the tab and begins with an untrained network. */
export async function startLearning() {
  await new Learn().reset();
}
