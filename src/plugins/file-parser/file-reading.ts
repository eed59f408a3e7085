import { webcrypto } from 'node:crypto';
import { Cancellation } from '../../domain/cancellation.ts';
import { GatewayError } from '../../domain/errors.ts';
import { FairPlaces } from '../../domain/fair-places.ts';
import { estimateTokens } from '../../domain/estimate-tokens.ts';
import type { InputFilePart, InputItem } from '../../domain/items.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { ReadingShare } from '../../domain/reading-share.ts';
import { ServiceError } from '../../domain/service.ts';
import type { Charge, PlannedCharge } from '../../domain/charge.ts';
import type { PluginRun } from '../plugin.ts';
import { detectFormat } from './extract/detect-format.ts';
import type { DeclaredType, ExtractedFile } from './extract/extract-file.ts';
import { FileFault } from './extract/file-fault.ts';
import { collectAnnotations, type FileAnnotation, type FileContent, hashOf } from './file-annotations.ts';
import { nameOf, readSource } from './file-source.ts';
import type { OcrText } from './mistral-ocr.ts';

/** An engine that makes text of a PDF. */
export type TextEngine = 'cloudflare-ai' | 'mistral-ocr';

/** An OCR service. */
export interface OcrEngine {
  /** Price of a page. */
  pageNanoUsd: bigint;
  /** @throws {ServiceError} and the reason of the signal */
  read(pdf: Buffer, signal: AbortSignal): Promise<OcrText>;
}

/** @param path of the part, for messages @throws {GatewayError} that names the path */
export type FetchFile = (url: string, path: string) => Promise<{ bytes: Buffer; mediaType: string }>;

/** Parts of the gateway that the file parser needs. */
export interface FilePorts {
  /** `maxCharacters` applies to all texts of a request together, and so does `parallel` to its files. */
  fileLimits(): { maxFiles: number; maxBytes: number; maxCharacters: number; maxUrls: number; parallel: number };
  /** Called once for a run, whose fetches share a budget. @returns undefined if no URL is fetched */
  openFetch(cancellation: PluginRun['cancellation']): FetchFile | undefined;
  /** @param only `pages` counts the pages of a PDF @throws {FileFault} if it cannot be read */
  extractFile(
    bytes: Buffer,
    declared: DeclaredType,
    options: { share: ReadingShare; cancellation: Watched; only?: 'pages' | undefined },
  ): Promise<ExtractedFile>;
  /** Undefined: none is configured. */
  findOcr(): OcrEngine | undefined;
  charge(run: PluginRun, planned: PlannedCharge): MaybePromise<Charge>;
  /** Reserves the cost of text that was not known before. @throws {GatewayError} if it exceeds a spending limit */
  reserveInput(run: PluginRun, tokens: number): MaybePromise<void>;
}

type Watched = Pick<Cancellation, 'reason' | 'add' | 'remove'>;

/** A file whose text is known. */
export interface ReadFile {
  /** Texts, then images. */
  content: readonly FileContent[];
  engine: TextEngine;
  pages: number;
  isReused: boolean;
  costUsd: number;
  /** The engine that was tried first and failed. */
  replaces?: 'mistral-ocr' | undefined;
  /** Undefined: the text is that of the file itself. */
  annotation: FileAnnotation | undefined;
}

/**
 * Reads the files of one run. Each file is read once, even if several attempts need it or if it occurs more than once.
 */
export class FileReading {
  private readonly run: PluginRun;
  private readonly ports: FilePorts;
  private readonly named: TextEngine | undefined;
  private readonly byPath = new Map<string, Promise<ReadFile>>();
  private readonly byDigest = new Map<string, Promise<ReadFile>>();
  private readonly known = new Set<ReadFile>();
  private readonly urls = new Set<string>();
  private readonly share: ReadingShare;
  /** The other files of the request wait here, and not in the queue of all requests. */
  private readonly places: FairPlaces;
  private characters = 0;
  private fetch: FetchFile | undefined;
  /** The contents that the request contains, by hash. */
  private sentBack: ReadonlyMap<string, FileContent[]> | undefined;

  /** @param named the engine that the request names */
  constructor(run: PluginRun, ports: FilePorts, named: TextEngine | undefined) {
    this.run = run;
    this.ports = ports;
    this.named = named;
    this.share = { workspaceId: run.caller.workspaceId, usedMs: 0 };
    this.places = new FairPlaces(() => {
      const { parallel } = ports.fileLimits();
      return { places: parallel, perOwner: parallel, queue: Infinity };
    }, stopped);
  }

  /**
   * Reads the files of an attempt. If one cannot be read, the others are not read either.
   *
   * @param parts by their path: `input[0].content[1]`. The path of a part never changes within a run
   * @throws {GatewayError} `invalid_request` that names the file, if one cannot be read
   */
  async readAll(
    parts: ReadonlyMap<string, InputFilePart>,
    input: readonly InputItem[],
  ): Promise<ReadonlyMap<string, ReadFile>> {
    const { maxFiles } = this.ports.fileLimits();
    if (parts.size > maxFiles) {
      const [path] = [...parts.keys()].slice(maxFiles);
      const message = `The request has ${parts.size} files; at most ${maxFiles} are read (plugins.file_parser.max_files).`;
      throw refuse(path!, message);
    }
    this.sentBack ??= collectAnnotations(input);
    const files = await this.untilFailure((stop) =>
      Promise.all([...parts].map(async ([path, part]) => [path, await this.readOnce(path, part, stop)] as const)),
    );
    const fresh = new Set(files.flatMap(([, file]) => (this.known.has(file) ? [] : [file])));
    if (fresh.size > 0) {
      this.report([...fresh]);
      const texts = [...fresh].flatMap(({ content }) =>
        content.map((piece) => (piece.type === 'text' ? piece.text : '')),
      );
      await this.ports.reserveInput(this.run, Math.ceil(estimateTokens(texts)));
    }
    return new Map(files);
  }

  /** Runs work whose parts are cancelled when one of them fails, or the run is cancelled. */
  private async untilFailure<Result>(work: (stop: Watched) => Promise<Result>): Promise<Result> {
    const { cancellation } = this.run;
    const stop = new Cancellation();
    const listener = { cancelled: (reason: GatewayError) => stop.cancel(reason) };
    cancellation.add(listener);
    if (cancellation.reason) stop.cancel(cancellation.reason);
    try {
      return await work(stop);
    } finally {
      cancellation.remove(listener);
      stop.cancel(stopped()); // no effect after success
    }
  }

  private async extract(bytes: Buffer, declared: DeclaredType, stop: Watched, only?: 'pages'): Promise<ExtractedFile> {
    const leave = await this.places.enter('', stop);
    try {
      return await this.ports.extractFile(bytes, declared, { share: this.share, cancellation: stop, only });
    } finally {
      leave();
    }
  }

  private readOnce(path: string, part: InputFilePart, stop: Watched): Promise<ReadFile> {
    let reading = this.byPath.get(path);
    if (reading) return reading;
    reading = this.read(path, part, stop).then(
      (file) => this.count(path, file),
      (error: unknown) => {
        throw explain(error, path, nameOf(part));
      },
    );
    this.byPath.set(path, reading);
    reading.catch((error: unknown) => {
      // a later attempt may find a free place
      if (error instanceof GatewayError && error.kind === 'unavailable') this.byPath.delete(path);
    });
    return reading;
  }

  /** The same file may be written more than once. */
  private count(path: string, file: ReadFile): ReadFile {
    const { maxCharacters } = this.ports.fileLimits();
    for (const piece of file.content) if (piece.type === 'text') this.characters += piece.text.length;
    if (this.characters <= maxCharacters) return file;
    throw refuse(
      path,
      `The files of the request have more than ${maxCharacters} characters of text (plugins.file_parser.max_characters). Send less.`,
    );
  }

  private async read(path: string, part: InputFilePart, stop: Watched): Promise<ReadFile> {
    const { bytes, declared } = await this.load(path, part);
    const { maxBytes } = this.ports.fileLimits();
    if (bytes.length > maxBytes) {
      throw new FileFault(
        `It has ${bytes.length} bytes; at most ${maxBytes} are read (plugins.file_parser.max_bytes).`,
      );
    }
    const digest = await computeDigest(bytes);
    let reading = this.byDigest.get(digest);
    if (!reading) {
      reading = this.parse(bytes, digest, { name: nameOf(part), declared, stop });
      this.byDigest.set(digest, reading);
      reading.catch(() => this.byDigest.delete(digest)); // the path keeps it
    }
    return await reading;
  }

  private async load(path: string, part: InputFilePart): Promise<{ bytes: Buffer; declared: DeclaredType }> {
    const source = readSource(part);
    switch (source.type) {
      case 'data':
        return source;
      case 'id':
        throw new GatewayError('internal', 'A file id has no bytes.'); // such a part is never read
      case 'url': {
        this.fetch ??= this.ports.openFetch(this.run.cancellation);
        if (!this.fetch) {
          throw refuse(path, 'This gateway fetches no URLs (outbound.fetch): send the file itself as `file_data`.');
        }
        const { maxUrls } = this.ports.fileLimits();
        this.urls.add(source.url);
        if (this.urls.size > maxUrls)
          throw refuse(path, `No more than ${maxUrls} addresses are fetched for a request.`);
        const { bytes, mediaType } = await this.fetch(source.url, path);
        return { bytes, declared: { mediaType } };
      }
    }
  }

  private async parse(
    bytes: Buffer,
    digest: string,
    { name, declared, stop }: { name: string | undefined; declared: DeclaredType; stop: Watched },
  ): Promise<ReadFile> {
    const isPdf = detectFormat(bytes) === 'pdf';
    const ocr = isPdf && this.named !== 'cloudflare-ai' ? this.ports.findOcr() : undefined;
    const reused = this.findReusable(digest, isPdf);
    if (reused) return { ...noCost, ...reused, isReused: true };
    let replaces: ReadFile['replaces'];
    if (ocr) {
      try {
        return await this.readByOcr(ocr, bytes, digest, { name, stop });
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        replaces = 'mistral-ocr';
        if (this.named !== undefined) {
          const kind = error.rejectsKey ? 'upstream_key_rejected' : 'unavailable';
          throw new GatewayError(kind, error.message, { retryable: true, cause: error });
        }
      }
    }
    const file = await this.extract(bytes, declared, stop);
    const content: FileContent[] = [{ type: 'text', text: file.text }];
    return {
      ...noCost,
      content,
      engine: 'cloudflare-ai',
      pages: file.pages ?? 0,
      isReused: false,
      replaces,
      annotation: file.kind === 'text' ? undefined : annotate(hashOf(digest, 'cloudflare-ai'), name, content),
    };
  }

  /** The engine that the request names must have made it. Otherwise any may. */
  private findReusable(digest: string, isPdf: boolean) {
    const engines = isPdf && this.named ? [this.named] : (['mistral-ocr', 'cloudflare-ai'] as const);
    for (const engine of engines) {
      const hash = hashOf(digest, engine);
      const content = this.sentBack?.get(hash);
      if (content) return { content, engine, pages: 0, annotation: annotate(hash, undefined, content) };
    }
    return undefined;
  }

  private async readByOcr(
    ocr: OcrEngine,
    bytes: Buffer,
    digest: string,
    { name, stop }: { name: string | undefined; stop: Watched },
  ): Promise<ReadFile> {
    const { cancellation } = this.run;
    // The service is not asked for a file that is damaged or too long.
    const { pages: maxCount = 1 } = await this.extract(bytes, { mediaType: '' }, stop, 'pages');
    const planned = { name: 'file_parser', service: 'mistral-ocr', unitNanoUsd: ocr.pageNanoUsd, maxCount };
    const charge = await this.ports.charge(this.run, planned);
    let count = 0;
    try {
      const { text, images, pages } = await ocr.read(bytes, cancellation.signal);
      count = Math.min(pages, maxCount);
      if (text === '' && images.length === 0) throw new FileFault('It contains no text, not even in its images.');
      const content: FileContent[] = [
        { type: 'text', text },
        ...images.map((url): FileContent => ({ type: 'image_url', image_url: { url } })),
      ];
      return {
        content,
        engine: 'mistral-ocr',
        pages,
        isReused: false,
        costUsd: Number(BigInt(count) * ocr.pageNanoUsd) / 1e9,
        annotation: annotate(hashOf(digest, 'mistral-ocr'), name, content),
      };
    } finally {
      charge.settle(count);
    }
  }

  /** Adds a stage for each engine that has read files since the last attempt. */
  private report(files: readonly ReadFile[]): void {
    for (const engine of ['mistral-ocr', 'cloudflare-ai'] as const) {
      const read = files.filter((file) => file.engine === engine);
      if (read.length === 0) continue;
      const reused = read.filter(({ isReused }) => isReused).length;
      const failed = read.some(({ replaces }) => replaces !== undefined);
      this.run.stages.push({
        type: 'plugin',
        name: 'file-parser',
        summary: `${engine} made text of ${read.length} ${read.length === 1 ? 'file' : 'files'}.`,
        data: {
          engine,
          files: read.length,
          pages: read.reduce((sum, { pages }) => sum + pages, 0),
          reused,
          ...(failed && { failed_engine: 'mistral-ocr' }),
        },
        ...(engine === 'mistral-ocr' && reused < read.length
          ? { cost_usd: read.reduce((sum, { costUsd }) => sum + costUsd, 0) }
          : undefined),
      });
    }
    for (const file of files) this.known.add(file);
  }
}

/** Kind `unavailable`: a later attempt reads the file. */
const stopped = (): GatewayError => new GatewayError('unavailable', 'Another file of the request could not be read.');

/** In another thread: 20 MB take 15 ms. @returns SHA-256 in hex */
const computeDigest = async (bytes: Buffer): Promise<string> =>
  Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes as Buffer<ArrayBuffer>)).toString('hex'); // not shared

const noCost = { costUsd: 0 };

const annotate = (hash: string, name: string | undefined, content: FileContent[]): FileAnnotation => ({
  type: 'file',
  file: { hash, ...(name !== undefined && { name }), content },
});

/** Creates the error for a file. Another endpoint may accept the file itself. */
const refuse = (path: string, message: string): GatewayError =>
  new GatewayError('invalid_request', `${path}: ${message}`, {
    metadata: { param: path, issues: [{ path, message }] },
    retryable: true,
  });

/** Names the file. An address that cannot be fetched may be one for another endpoint. */
function explain(error: unknown, path: string, name: string | undefined): unknown {
  if (error instanceof GatewayError && error.kind === 'invalid_request' && !error.retryable) {
    return new GatewayError('invalid_request', error.message, {
      metadata: error.metadata,
      retryable: true,
      cause: error,
    });
  }
  if (!(error instanceof FileFault)) return error;
  const file = name === undefined ? 'The file' : `The file ${JSON.stringify(name)}`;
  return refuse(path, `${file} cannot be read. ${error.message}`);
}
