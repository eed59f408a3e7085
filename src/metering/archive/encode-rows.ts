import { Worker } from 'node:worker_threads';
import { moduleUrl } from '../../domain/module-url.ts';
import type { ArchiveRow } from '../../platform/storage/ports/archives.ts';
import { openCalls } from '../../platform/threads/thread-calls.ts';
import type { EncodeFunctions } from './encode-thread.ts';
import type { ArchiveFormat } from './row-encoders.ts';

const entry = moduleUrl('./encode-thread', import.meta.url);

/** Encodes pages of rows as one file, in a thread that ends with it. JSONL is not compressed. */
export async function* encodeRows(
  pages: AsyncIterable<readonly ArchiveRow[]>,
  format: ArchiveFormat,
): AsyncGenerator<Uint8Array> {
  const worker = new Worker(entry, { env: {}, execArgv: [], workerData: format });
  const { call, fail } = openCalls<EncodeFunctions>(worker);
  worker.on('error', (error) => fail(error as Error));
  worker.on('exit', () => fail(new Error('The thread that encodes rows has ended.')));
  try {
    for await (const page of pages) {
      const bytes = await call('add', page as ArchiveRow[]);
      if (bytes.length > 0) yield bytes;
    }
    const end = await call('end');
    if (end.length > 0) yield end;
  } finally {
    await worker.terminate();
  }
}
