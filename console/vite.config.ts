import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** The address of the gateway that `npm run dev` forwards requests to. */
const gateway = process.env['HEADGATE_URL'] ?? 'http://127.0.0.1:8787';

/**
 * Removes the hash that Rolldown 1.2.19 writes after the marker of a dynamic import. Vite 8.3.8 replaces the marker only, so
 * the hash remains in the script as a syntax error.
 */
const preloadMarkers: Plugin = {
  name: 'preload-markers',
  enforce: 'post',
  renderChunk: (code) =>
    /__VITE_PRELOAD__[\da-f]{32}/.test(code)
      ? { code: code.replaceAll(/__VITE_PRELOAD__[\da-f]{32}/g, '__VITE_PRELOAD__'), map: null }
      : null,
};

export default defineConfig(({ command }) => ({
  root: import.meta.dirname,
  // Relative, because a proxy may put the gateway below any path.
  base: command === 'build' ? './' : '/console/',
  plugins: [react(), preloadMarkers],
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: { proxy: { '/api': gateway } },
}));
