import { readdirSync } from 'node:fs';
import { array, assert, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ErrorKind, GatewayError } from '../domain/errors.ts';
import type { EndpointImageRequest, ImageChunk } from '../domain/images.ts';
import { findMediaType, parseImage } from '../domain/parse-image.ts';
import { readRecording, replayBody } from '../testing/replay.ts';
import type { Poll } from './image-wire.ts';
import type { Target, Wire } from './wire.ts';

/** Facts about a wire that the recordings do not contain. */
export interface ImageContract {
  /**
   * File name → kind of the error in it. `*.stream.http` is read as a stream and `*.whole.http` as a buffered response.
   * Any other file is read as the response to a failed request.
   */
  errors: Record<string, ErrorKind>;
  /** File name of a response without a result → how to poll for the result. */
  polls?: Record<string, Partial<Poll>>;
  /** File name without endings → facts about the request that the reader needs. */
  asks?: Record<string, Partial<EndpointImageRequest>>;
  /** `dialect` of the provider that was recorded. */
  dialect?: Readonly<Record<string, unknown>>;
}

const plain: EndpointImageRequest = {
  prompt: 'A red fox',
  count: 1,
  references: [],
  passthrough: {},
  size: undefined,
  aspectRatio: undefined,
  resolution: undefined,
  quality: undefined,
  format: undefined,
  compression: undefined,
  background: undefined,
  seed: undefined,
};

/**
 * Tests the contract of all image wires on recordings. The size of network pieces does not matter. A stream and a
 * buffered response of the same exchange return the same images and usage. Images are valid. A truncated stream is
 * never accepted as complete. Errors have their kind.
 *
 * @param recordings a folder of `<name>.stream.http` and `<name>.whole.http`, and errors with any name
 */
export function testImageWire(wire: Wire, recordings: URL, contract: ImageContract): void {
  const folder = new URL(recordings.href.replace(/\/?$/, '/'));
  const { image } = wire;
  if (!image) throw new Error(`${wire.id} makes no images.`);
  const files = readdirSync(folder).filter((file) => file.endsWith('.http'));
  const read = (file: string) => readRecording(new URL(file, folder));
  const readingOf = (file: string, stream: boolean): unknown => {
    const name = file.replace(/\..*$/, '');
    const target: Target = {
      endpoint: 'acme/one at Acme',
      upstreamModel: 'one',
      stream,
      dialect: contract.dialect ?? {},
    };
    return image.writeRequest({ ...plain, ...contract.asks?.[name] }, target).readerContext;
  };
  const readerOf = (file: string) => image.createReader!(readingOf(file, true));
  const readWhole = (file: string) => image.readWhole(JSON.parse(read(file).body.toString()), readingOf(file, false));
  const isError = (file: string): boolean => contract.errors[file] !== undefined;
  const streams = files.filter((file) => file.endsWith('.stream.http') && !isError(file));
  const wholes = files.filter(
    (file) => file.endsWith('.whole.http') && !isError(file) && contract.polls?.[file] === undefined,
  );
  const pairs = streams.filter((file) => wholes.includes(file.replace('.stream.', '.whole.')));

  describe(`the contract of image wires: ${wire.id}`, () => {
    it('names in its contract only recordings that are there', () => {
      expect(files).toEqual(
        expect.arrayContaining([...Object.keys(contract.errors), ...Object.keys(contract.polls ?? {})]),
      );
    });

    it.each(streams)('%s means the same wherever it is cut, and ends with its one finish chunk', (file) => {
      const { body } = read(file);
      const chunks = replayBody(body, readerOf(file), body.length);
      expect(chunks.filter(({ type }) => type === 'finish')).toHaveLength(1);
      expect(chunks.at(-1)?.type).toBe('finish');
      checkImages(chunks);
      const sizes = array(integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 20 });
      assert(
        property(sizes, (pieces) => {
          expect(replayBody(body, readerOf(file), pieces)).toEqual(chunks);
        }),
        { numRuns: 20 },
      );
    });

    it.each(streams)('%s has no finish chunk, and no error but ours, if it is truncated', (file) => {
      const { body } = read(file);
      const whole = replayBody(body, readerOf(file)).filter(({ type }) => type === 'image');
      assert(
        property(integer({ min: 0, max: body.length - 1 }), (length) => {
          let cut: ImageChunk[] = [];
          try {
            cut = replayBody(body.subarray(0, length), readerOf(file));
          } catch (error) {
            // The pipeline reports any error of a reader as a failure of the provider.
            expect(error).toBeInstanceOf(Error);
          }
          if (!cut.some(({ type }) => type === 'finish')) return;
          expect(cut.filter(({ type }) => type === 'image').length).toBeLessThanOrEqual(whole.length);
          checkImages(cut);
        }),
        { numRuns: 50 },
      );
    });

    it.each(wholes)('%s returns images or links to them, and one finish chunk', (file) => {
      const chunks = readWhole(file);
      if (!Array.isArray(chunks)) throw new Error(`${file} is to be asked for again.`);
      expect(chunks.filter(({ type }) => type === 'image' || type === 'image_link').length).toBeGreaterThan(0);
      expect(chunks.at(-1)?.type).toBe('finish');
      checkImages(chunks);
    });

    it.each(pairs)('%s returns the same images as the whole response', (file) => {
      const streamed = replayBody(read(file).body, readerOf(file));
      const whole = readWhole(file.replace('.stream.', '.whole.')) as ImageChunk[]; // the previous test has checked it
      expect(withoutPartials(streamed)).toEqual(withoutPartials(whole));
    });

    it.each(Object.entries(contract.polls ?? {}))('%s is polled', (file, poll) => {
      expect(readWhole(file)).toMatchObject({ type: 'poll', ...poll });
    });

    it.each(Object.entries(contract.errors))('%s is the error %s', (file, kind) => {
      const answer = read(file);
      expect(
        thrown(() => {
          if (file.endsWith('.stream.http')) return replayBody(answer.body, readerOf(file));
          if (file.endsWith('.whole.http')) return readWhole(file);
          const readError = image.readError ?? wire.readError;
          throw readError({ status: answer.status, headers: answer.headers, body: parseOrText(answer.body) });
        }),
      ).toMatchObject({ kind });
    });
  });
}

function checkImages(chunks: readonly ImageChunk[]): void {
  for (const chunk of chunks) {
    if (chunk.type === 'image') expect(parseImage(chunk.bytes)).toBeDefined();
    if (chunk.type === 'partial') expect(findMediaType(chunk.bytes)).toBeDefined();
  }
}

const withoutPartials = (chunks: readonly ImageChunk[]) =>
  chunks.filter(({ type }) => type === 'image' || type === 'finish').map((chunk) => ({ ...chunk, dropped: undefined }));

function thrown(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error instanceof GatewayError ? error : new GatewayError('upstream_failed', String(error));
  }
  return undefined;
}

function parseOrText(body: Buffer): unknown {
  const text = body.toString();
  try {
    return JSON.parse(text);
  } catch {
    return text; // error pages of proxies are not JSON
  }
}
