import { parentPort, workerData } from 'node:worker_threads';
import { serveCalls } from '../../platform/threads/thread-calls.ts';
import type { ArchiveRow } from '../../platform/storage/ports/archives.ts';
import { type ArchiveFormat, createRowEncoder } from './row-encoders.ts';

/* The thread that encodes a file. A group of rows takes a tenth of a second, and the encoder cannot pause. */

const encoder = createRowEncoder(workerData as ArchiveFormat);
const functions = {
  add: async (rows: ArchiveRow[]): Promise<Uint8Array> => (await encoder).add(rows),
  end: async (): Promise<Uint8Array> => (await encoder).end(),
};
export type EncodeFunctions = typeof functions;

serveCalls(parentPort!, functions); // this module is the entry of a worker
