import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'tests/**/*.test.ts'],
    // Bounds for a machine that does much else: a test that hangs fails, a slow one does not.
    testTimeout: 60_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 15_000 } },
    maxWorkers: 2, // the tests start servers: on two cores one worker leaves half of them idle
  },
});
