// Points in a plane that a network learns to divide. They are the same in every browser.

export const SAMPLES = 128;

/** Numbers from 0 to 1 that are the same everywhere (mulberry32). */
function randomFrom(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Each gives a point and its side. Only operations with one result in every browser: no sine, which may differ.
const TASKS = {
  halves: (random) => {
    const [x, y] = [random() * 1.8 - 0.9, random() * 1.8 - 0.9];
    return [x, y, x + y / 2 > 0];
  },
  xor: (random) => {
    const [x, y] = [random() * 1.8 - 0.9, random() * 1.8 - 0.9];
    return [x, y, x * y > 0];
  },
  rings: (random) => {
    for (;;) {
      const [x, y] = [random() * 1.8 - 0.9, random() * 1.8 - 0.9];
      const far = x * x + y * y;
      if (far < 0.16 || (far > 0.36 && far < 0.81)) return [x, y, far < 0.16];
    }
  },
  spiral: (random, i) => {
    // A point that turns by a fixed rotation at each step.
    const steps = Math.floor(i / 2),
      radius = (steps / (SAMPLES / 2)) * 0.9;
    let [c, s] = [1, 0];
    for (let k = 0; k < steps; ++k) [c, s] = [c * 0.994187 - s * 0.107666, s * 0.994187 + c * 0.107666];
    const side = i % 2 === 0 ? 1 : -1;
    return [side * radius * c, side * radius * s, side > 0];
  },
};

/** Points and targets of a task. */
export function drawTask(name) {
  const random = randomFrom(1),
    points = new Float32Array(2 * SAMPLES),
    targets = new Float32Array(SAMPLES);
  for (let i = 0; i < SAMPLES; ++i) {
    const [x, y, side] = TASKS[name](random, i);
    points.set([x, y], 2 * i);
    targets[i] = side ? 0.8 : -0.8;
  }
  return { points, targets };
}
