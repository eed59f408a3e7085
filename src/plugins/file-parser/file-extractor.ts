import type { Cancellation } from '../../domain/cancellation.ts';
import { GatewayError } from '../../domain/errors.ts';
import { FairPlaces } from '../../domain/fair-places.ts';
import { moduleUrl } from '../../domain/module-url.ts';
import type { ReadingShare } from '../../domain/reading-share.ts';
import { TaskFault, type TaskLimits, TaskThreads } from '../task-threads.ts';
import type { DeclaredType, ExtractedFile, ExtractLimits } from './extract/extract-file.ts';
import { FileFault } from './extract/file-fault.ts';
import type { ExtractJob, ExtractResult } from './extractor-worker.ts';

/** `timeoutMs` is the limit of one file, without the wait in the queue. */
export interface ExtractorSettings extends ExtractLimits, TaskLimits {
  /** Time limit of all files of one request, without their waits in the queue. */
  requestTimeoutMs: number;
  /** Files that are read at the same time. */
  parallel: number;
  /** Files that wait. */
  queue: number;
}

/** Time after which a file makes way for that of a workspace that has none in a thread. */
const TURN_MS = 1000;

type Watched = Pick<Cancellation, 'reason' | 'add' | 'remove'>;

/**
 * Extracts the text of files in worker threads, which workspaces share. A file that takes too long or too much memory ends
 * its thread, and not the gateway.
 */
export class FileExtractor {
  private readonly settings: () => ExtractorSettings;
  private readonly report: (detail: string) => void;
  private readonly places: FairPlaces;
  private readonly threads = new TaskThreads<ExtractJob, ExtractResult>(
    moduleUrl('./extractor-worker', import.meta.url),
  );

  /** @param report called if a parser failed unexpectedly */
  constructor(settings: () => ExtractorSettings, report: (detail: string) => void) {
    this.settings = settings;
    this.report = report;
    this.places = new FairPlaces(() => {
      const { parallel, queue } = settings();
      return { places: parallel, queue, turnMs: TURN_MS };
    }, refuseFile);
  }

  /** Files of one workspace that are read at the same time. */
  get share(): number {
    return this.places.share;
  }

  /**
   * @param bytes are copied
   * @param only see `extractFile`
   * @throws {FileFault} if the file cannot be read within the limits
   * @throws {GatewayError} `unavailable` if too many files wait, and the reason of the cancellation
   */
  async extract(
    bytes: Buffer,
    declared: DeclaredType,
    { share, cancellation, only }: { share: ReadingShare; cancellation: Watched; only?: 'pages' | undefined },
  ): Promise<ExtractedFile> {
    return this.places.run(share.workspaceId, cancellation, async (watched) => {
      const settings = this.settings();
      const { requestTimeoutMs, memory } = settings;
      const timeoutMs = Math.max(0, Math.min(settings.timeoutMs, Math.floor(requestTimeoutMs - share.usedMs)));
      const startMs = performance.now();
      try {
        if (timeoutMs === 0) throw tooLong(settings, timeoutMs);
        const copy = new Uint8Array(bytes);
        const job: ExtractJob = { bytes: copy, declared, limits: settings, only };
        const result = await this.threads.run(job, { timeoutMs, memory }, watched, [copy.buffer]);
        if ('file' in result) return result.file;
        if (result.detail !== undefined) this.report(result.detail);
        throw new FileFault(result.fault);
      } catch (error) {
        if (!(error instanceof TaskFault)) throw error;
        if (error.reason === 'time') throw tooLong(settings, timeoutMs);
        if (error.reason === 'failure') throw new FileFault('It is damaged: reading it failed.');
        throw new FileFault(`It takes more than ${memory} bytes of memory to read (plugins.file_parser.memory).`);
      } finally {
        if (!watched.reason) share.usedMs += performance.now() - startMs; // the time of a first try does not count
      }
    });
  }
}

const refuseFile = (): GatewayError =>
  new GatewayError('unavailable', 'Too many files are being read (plugins.file_parser.queue). Retry in a moment.', {
    retryAfterSeconds: 1,
    retryable: true,
  });

function tooLong({ timeoutMs, requestTimeoutMs }: ExtractorSettings, limitMs: number): FileFault {
  return new FileFault(
    limitMs < timeoutMs
      ? `The files of the request took longer than ${requestTimeoutMs} ms to read (plugins.file_parser.request_timeout_ms).`
      : `It took longer than ${timeoutMs} ms to read (plugins.file_parser.timeout_ms).`,
  );
}
