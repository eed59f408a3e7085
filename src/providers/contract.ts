import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { array, assert, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Chunk, FinishChunk } from '../domain/chunks.ts';
import { type ErrorKind, GatewayError } from '../domain/errors.ts';
import type { LifecycleEvent, ResponseEvent } from '../domain/events.ts';
import type { OutputItem } from '../domain/items.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type { ResponseObject } from '../domain/response.ts';
import { findRequestFile } from '../exchanges/file-names.ts';
import { readRecordedRequest } from '../exchanges/folder.ts';
import { EventBuilder } from '../pipeline/events/build-events.ts';
import { createResponseObject } from '../pipeline/events/response-object.ts';
import { readRequest } from '../requests/responses/request.ts';
import { readRecording, replayBody } from '../testing/replay.ts';
import type { TextWire } from './text-wire.ts';
import type { Target, Wire } from './wire.ts';

/** Facts about a wire that the recordings do not contain. */
export interface WireContract {
  /**
   * File name → kind of the error in it. `*.stream.http` is read as a stream and `*.whole.http` as a buffered response.
   * Any other file is read as the response to a failed request.
   */
  errors: Record<string, ErrorKind>;
  /**
   * File name without endings → the request of the exchange, if the reader depends on it. Alternatively, a
   * `<name>.request.json` beside the recording, as `headgate record` writes it.
   */
  requests?: Record<string, ResponseRequest>;
  /** `dialect` of the provider that was recorded. */
  dialect?: Readonly<Record<string, unknown>>;
}

/**
 * Tests the contract of all wires on the recordings of one. The chunks do not depend on how the network splits the
 * body. A stream and a buffered response of the same exchange fold into the same response. A truncated stream has no
 * finish chunk. Errors have their kind.
 *
 * @param recordings a folder of `<name>.stream.http` and `<name>.whole.http`, and errors with any name
 */
export function testWire(wire: Wire & { readonly text: TextWire }, recordings: URL, contract: WireContract): void {
  const folder = new URL(recordings.href.replace(/\/?$/, '/'));
  const files = readdirSync(folder).filter((file) => file.endsWith('.http'));
  const streams = files.filter((file) => file.endsWith('.stream.http') && !(file in contract.errors));
  const pairs = streams.filter((file) => files.includes(file.replace('.stream.', '.whole.')));
  const read = (file: string) => readRecording(new URL(file, folder));
  const readingOf = (file: string, stream: boolean) => readingFor(wire, contract, new URL(file, folder), stream);
  const readerOf = (file: string) => wire.text.createReader(readingOf(file, true));
  const readWhole = (file: string) =>
    wire.text.readWhole(JSON.parse(read(file).body.toString()), readingOf(file, false));

  describe(`the contract of ${wire.id}`, () => {
    it('has recordings', () => {
      expect(pairs.length).toBeGreaterThan(0);
      expect(files).toEqual(expect.arrayContaining(Object.keys(contract.errors)));
    });

    describe.each(streams)('%s', (file) => {
      const { body } = read(file);
      const chunks = replayBody(body, readerOf(file), body.length);

      it.each([1, 7, 1000])('gives the same chunks in pieces of %i bytes', (size) => {
        expect(replayBody(body, readerOf(file), size)).toEqual(chunks);
      });

      it('gives the same chunks in pieces of any size', () => {
        const sizes = array(integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 20 });
        assert(
          property(sizes, (pieces) => {
            expect(replayBody(body, readerOf(file), pieces)).toEqual(chunks);
          }),
          { numRuns: 30 },
        );
      });

      it('ends with its one finish chunk', () => {
        expect(chunks.filter((chunk) => chunk.type === 'finish')).toHaveLength(1);
        expect(chunks.at(-1)?.type).toBe('finish');
      });

      it('has no finish chunk, and no error except GatewayError, if it is truncated', () => {
        const check = (length: number) => {
          const cut = replayOrError(body.subarray(0, length), () => readerOf(file));
          if (cut.some((chunk) => chunk.type === 'finish')) expect(content(cut)).toEqual(content(chunks));
        };
        for (const length of frameEnds(body)) check(length);
        assert(property(integer({ min: 0, max: body.length - 1 }), check), { numRuns: 50 });
      });

      it('has the same text in its deltas and in its items', () => {
        expect(textOfDeltas(chunks)).toEqual(textOfItems(fold(chunks).output));
      });
    });

    it.each(pairs)('%s folds into the same response as the whole body', (file) => {
      const { body } = read(file);
      const streamed = fold(replayBody(body, readerOf(file)));
      expect(withoutIds(streamed)).toEqual(withoutIds(fold(readWhole(file.replace('.stream.', '.whole.')))));
    });

    const errors = Object.entries(contract.errors);
    if (errors.length > 0) {
      it.each(errors)('%s is the error %s', (file, kind) => {
        const recording = read(file);
        expect(
          thrown(() => {
            if (file.endsWith('.stream.http')) return replayBody(recording.body, readerOf(file));
            if (file.endsWith('.whole.http')) return readWhole(file);
            throw wire.readError({ ...recording, body: parseOrText(recording.body) });
          }),
        ).toMatchObject({ kind });
      });
    }
  });
}

function readingFor(
  { text }: { readonly text: TextWire },
  contract: WireContract,
  file: URL,
  stream: boolean,
): unknown {
  const name = basename(file.pathname).replace(/\..*$/, '');
  const recorded = readRecordedRequest(findRequestFile(fileURLToPath(file)));
  const body = { model: 'one', ...(recorded?.request ?? hello) };
  const request = contract.requests?.[name] ?? readRequest(body, {}).request;
  const dialect = recorded?.dialect ?? contract.dialect ?? {};
  const target: Target = {
    endpoint: 'acme/one at Acme',
    upstreamModel: recorded?.upstream_model ?? 'one',
    stream,
    dialect,
  };
  return text.writeRequest(request, target).readerContext;
}

const hello = { input: 'hello' };

/**
 * Returns the chunks before the end of the body or the reader's error. Rethrows any error other than a GatewayError.
 */
function replayOrError(body: Buffer, createReader: () => ReturnType<TextWire['createReader']>): Chunk[] {
  try {
    return replayBody(body, createReader());
  } catch (error) {
    expect(error).toBeInstanceOf(GatewayError);
    return [];
  }
}

function thrown(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
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

/** Returns all chunks except the end. Usage may follow the text, so a truncated stream may lose only a count. */
const content = (chunks: Chunk[]) => chunks.filter((chunk) => chunk.type !== 'finish');

/** Returns the lengths of the body up to the end of each frame except the last. */
function frameEnds(body: Buffer): number[] {
  const text = body.toString('latin1'); // one character per byte
  return [...text.matchAll(/\r?\n\r?\n/g)].map((end) => end.index + end[0].length).filter((end) => end < body.length);
}

// --- folding ---

function buildEvents(chunks: Chunk[]): ResponseEvent[] {
  return new EventBuilder({
    base: () => createResponseObject({}, 'resp_1', 0, 'acme/one'),
    model: () => 'acme/one',
    settle: (finish) => ({
      usage: wireUsage(finish),
      serviceTier: finish?.serviceTier ?? null,
      routerMetadata: undefined,
    }),
    now: () => 1,
    limitBytes: 32 * 1024 * 1024,
  }).build(chunks);
}

/** Returns the response object at the end of the chunks. */
function fold(chunks: Chunk[]): ResponseObject {
  const last = buildEvents(chunks).at(-1);
  expect(last?.type).toMatch(/^response\.(completed|incomplete)$/);
  return (last as LifecycleEvent).response; // both events have one
}

function wireUsage(finish: FinishChunk | undefined): ResponseObject['usage'] {
  const usage = finish?.usage;
  if (!usage) return null;
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: usage.cacheWriteTokens ?? 0 },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.totalTokens,
    cost: null,
    is_byok: false,
  };
}

/** Removes the item ids, because the builder creates random ones if the provider sent none. */
function withoutIds(response: ResponseObject): ResponseObject {
  return { ...response, output: response.output.map(({ id: _, ...item }) => item) };
}

/** Output index → the text of its deltas. @see docs/reference/events.md#order */
function textOfDeltas(chunks: Chunk[]): Record<number, string> {
  const texts: Record<number, string> = {};
  for (const event of buildEvents(chunks)) {
    if (!deltas.has(event.type)) continue;
    const { output_index: index, delta } = event as unknown as { output_index: number; delta: string }; // as all deltas
    if (delta !== '') texts[index] = (texts[index] ?? '') + delta;
  }
  return texts;
}

const deltas = new Set([
  'response.output_text.delta',
  'response.refusal.delta',
  'response.reasoning_text.delta',
  'response.reasoning_summary_text.delta',
  'response.function_call_arguments.delta',
  'response.custom_tool_call_input.delta',
]);

function textOfItems(output: OutputItem[]): Record<number, string> {
  const texts: Record<number, string> = {};
  output.forEach((item, index) => {
    const text = textOfItem(item);
    if (text !== '') texts[index] = text;
  });
  return texts;
}

function textOfItem(item: OutputItem): string {
  if (item.type === 'function_call') return String(item['arguments']);
  if (item.type === 'custom_tool_call') return String(item['input']);
  if (item.type !== 'message' && item.type !== 'reasoning') return '';
  const parts = [item['summary'], item['content']].flatMap((list): unknown[] => (Array.isArray(list) ? list : []));
  return parts.map((part) => textOfPart(part as Record<string, unknown>)).join(''); // parts are objects
}

const textOfPart = (part: Record<string, unknown>): string => String(part['text'] ?? part['refusal'] ?? '');
