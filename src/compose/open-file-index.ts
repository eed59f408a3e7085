import type { Config } from '../config/schema.ts';
import { Cancellation } from '../domain/cancellation.ts';
import { GatewayError } from '../domain/errors.ts';
import { indexFiles } from '../management/files/index-files.ts';
import type { FileParts } from '../management/files/parts.ts';
import type { PassageStore } from '../platform/storage/ports/passages.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import { createTextReader } from './create-text-reader.ts';

export interface FileIndexParts {
  config: () => Config;
  files: FileParts;
  passages: PassageStore;
  log: WriteLog;
}

/** Interval of looking for new files. The queue is a small table with an index. */
const POLL_MS = 1000;
/** Pause after a failure of the store. */
const TROUBLE_MS = 30_000;

/**
 * Makes files searchable in the background: uploads, files of earlier builds, and deleted files, whose texts it removes.
 *
 * @param resources collects the resources to close at the end
 */
export function openFileIndex({ config, files, passages, log }: FileIndexParts, resources: AsyncDisposableStack): void {
  const stop = new Cancellation();
  const readText = createTextReader(files, config, log);
  const limits = () => {
    const { file_characters, workspace_passages } = config().files.search;
    return { fileCharacters: file_characters, workspacePassages: workspace_passages };
  };
  const parts = { files: files.files, now: files.now, passages, readText, limits };
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const schedule = (ms: number): void => {
    timer = setTimeout(() => {
      running = run();
    }, ms).unref();
  };
  async function run(): Promise<void> {
    let pauseMs = POLL_MS;
    try {
      await indexFiles(parts, stop);
    } catch (error) {
      if (!stop.reason) log('file index failed', { err: error });
      pauseMs = TROUBLE_MS;
    }
    if (!stop.reason) schedule(pauseMs);
  }
  schedule(POLL_MS);
  resources.defer(async () => {
    stop.cancel(new GatewayError('unavailable', 'The gateway was shut down.'));
    clearTimeout(timer);
    await running;
  });
}
