import { expect, it } from 'vitest';
import { SandboxError } from '../sandbox.ts';
import type { RemoteContainer } from './remote-process.ts';
import { RemoteSandbox } from './remote-sandbox.ts';

const limits = { memoryBytes: 1, cpus: 1, processes: 1, diskBytes: 1, diskEntries: 1, temporaryBytes: 1 };

it('closes a process whose output a command floods', async () => {
  const piece = Buffer.alloc(1024 * 1024);
  let sentPieces = 0;
  const container: RemoteContainer = {
    async start(_, listener) {
      let [isOpen, hasBegun] = [true, false];
      return {
        async write() {
          if (hasBegun) return; // the last message
          for (hasBegun = true; isOpen && sentPieces < 100; sentPieces++) listener.output('stdout', piece);
        },
        close() {
          isOpen = false;
        },
      };
    },
    findEnd: async () => undefined,
    remove: async () => {},
  };
  const sandbox = new RemoteSandbox(container, { name: 'flooded', limits }, { isHomeLimited: true });
  await expect(sandbox.open()).rejects.toThrow(SandboxError);
  expect(sentPieces).toBeLessThan(5);
  await sandbox.stop();
});
