import { parentPort } from 'node:worker_threads';
import { type ExtractedFile, type ExtractLimits, extractFile, type DeclaredType } from './extract/extract-file.ts';
import { FileFault } from './extract/file-fault.ts';

/** A file for the worker thread. */
export interface ExtractJob {
  bytes: Uint8Array;
  declared: DeclaredType;
  limits: ExtractLimits;
  only?: 'pages' | undefined;
}

/** Its result. `detail` is for the operator. */
export type ExtractResult = { file: ExtractedFile } | { fault: string; detail?: string };

/** The worker thread of the file parser: reads one file after another. It loads a parser when a file needs it. */
parentPort?.on('message', async (job: ExtractJob) => {
  parentPort?.postMessage(await extract(job));
});

async function extract({ bytes, declared, limits, only }: ExtractJob): Promise<ExtractResult> {
  try {
    return { file: await extractFile(Buffer.from(bytes.buffer), declared, limits, only) };
  } catch (error) {
    if (error instanceof FileFault) return { fault: error.message };
    return { fault: 'It is damaged, or has a form that is not read.', detail: String(error).slice(0, 500) };
  }
}
