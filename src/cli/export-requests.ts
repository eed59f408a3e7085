import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { exportGenerations } from '../management/generations/write-exported.ts';
import { readStore } from './open-store.ts';
import { type ListRequestsOptions, readListOptions } from './requests.ts';
import type { Terminal } from './terminal.ts';

export interface ExportRequestsOptions extends ListRequestsOptions {
  /** False: without inputs and outputs. */
  contents?: boolean;
}

/** Prints all requests as lines of JSON, as `GET /generations/export` does. */
export async function exportRequests(
  { stdout, stderr, closed }: Terminal,
  config: Pick<Config, 'storage'>,
  { contents = true, ...options }: ExportRequestsOptions,
): Promise<void> {
  await readStore({ config, stderr }, async (storage) => {
    const filters = await readListOptions(storage, options);
    filters.toMs ??= currentTimeMs() + 1; // it ends although new requests follow
    for await (const lines of exportGenerations(storage.ledger, contents ? storage.contents : undefined, filters)) {
      for await (const line of lines) {
        if (closed?.aborted) return;
        stdout.write(line);
        await stdout.drain?.();
      }
    }
  });
}
