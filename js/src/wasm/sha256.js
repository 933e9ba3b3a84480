// SHA-256 (FIPS 180-4) of bytes that come in parts, which crypto.subtle cannot do.

const PRIMES = (() => {
  const found = [];
  for (let n = 2; found.length < 64; ++n) if (found.every((p) => n % p !== 0)) found.push(n);
  return found;
})();
const fraction = (x) => ((x - Math.floor(x)) * 2 ** 32) >>> 0;
const K = Uint32Array.from(PRIMES, (p) => fraction(Math.cbrt(p)));

export class Sha256 {
  constructor() {
    this.state = Uint32Array.from(PRIMES.slice(0, 8), (p) => fraction(Math.sqrt(p)));
    this.words = new Uint32Array(64);
    this.pending = new Uint8Array(64);
    this.waiting = 0;
    this.total = 0;
  }

  update(bytes) {
    this.total += bytes.length;
    let from = 0;
    if (this.waiting > 0) {
      from = Math.min(64 - this.waiting, bytes.length);
      this.pending.set(bytes.subarray(0, from), this.waiting);
      this.waiting += from;
      if (this.waiting < 64) return this;
      this.block(this.pending, 0);
      this.waiting = 0;
    }
    for (; from + 64 <= bytes.length; from += 64) this.block(bytes, from);
    this.pending.set(bytes.subarray(from));
    this.waiting = bytes.length - from;
    return this;
  }

  /** Returns 64 hexadecimal digits; nothing can be added afterwards. */
  finish() {
    const bits = this.total * 8;
    const end = new Uint8Array(this.waiting < 56 ? 64 - this.waiting : 128 - this.waiting);
    end[0] = 0x80;
    const view = new DataView(end.buffer);
    view.setUint32(end.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(end.length - 4, bits >>> 0);
    this.update(end);
    return Array.from(this.state, (word) => word.toString(16).padStart(8, '0')).join('');
  }

  block(bytes, from) {
    const w = this.words;
    for (let i = 0; i < 16; ++i, from += 4) {
      w[i] = (bytes[from] << 24) | (bytes[from + 1] << 16) | (bytes[from + 2] << 8) | bytes[from + 3];
    }
    for (let i = 16; i < 64; ++i) {
      const a = w[i - 15],
        b = w[i - 2];
      const s0 = ((a >>> 7) | (a << 25)) ^ ((a >>> 18) | (a << 14)) ^ (a >>> 3);
      const s1 = ((b >>> 17) | (b << 15)) ^ ((b >>> 19) | (b << 13)) ^ (b >>> 10);
      w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
    }
    const s = this.state;
    let a = s[0] | 0,
      b = s[1] | 0,
      c = s[2] | 0,
      d = s[3] | 0,
      e = s[4] | 0,
      f = s[5] | 0,
      g = s[6] | 0,
      h = s[7] | 0;
    for (let i = 0; i < 64; ++i) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      ((h = g), (g = f), (f = e), (e = (d + t1) | 0), (d = c), (c = b), (b = a), (a = (t1 + t2) | 0));
    }
    ((s[0] += a), (s[1] += b), (s[2] += c), (s[3] += d), (s[4] += e), (s[5] += f), (s[6] += g), (s[7] += h));
  }
}
