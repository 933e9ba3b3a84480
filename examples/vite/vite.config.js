// Isolation headers give the engine several threads.
const headers = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

export default {
  worker: { format: 'es' },
  optimizeDeps: { exclude: ['@openfluke/welvet'] },
  server: { headers },
  preview: { headers },
};
