import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The address of the gateway that `npm run dev` forwards requests to. */
const gateway = process.env['HEADGATE_URL'] ?? 'http://127.0.0.1:8787';

export default defineConfig(({ command }) => ({
  root: import.meta.dirname,
  // Relative, because a proxy may put the gateway below any path.
  base: command === 'build' ? './' : '/console/',
  plugins: [react()],
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
