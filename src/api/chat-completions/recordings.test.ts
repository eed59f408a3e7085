import { existsSync, globSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Chunk } from '../../domain/chunks.ts';
import { asGatewayError, GatewayError } from '../../domain/errors.ts';
import type { ResponseEvent } from '../../domain/events.ts';
import type { ReasoningDetail } from '../../domain/reasoning-details.ts';
import type { ResponseObject } from '../../domain/response.ts';
import { EventBuilder } from '../../pipeline/events/build-events.ts';
import { createResponseObject } from '../../pipeline/events/response-object.ts';
import { isTerminal } from '../../pipeline/events/fold-events.ts';
import { wires } from '../../providers/index.ts';
import { readRecording, replay } from '../../testing/replay.ts';
import { TextChunkWriter, writeTextCompletion } from '../completions/write-text-completion.ts';
import type { ChatFacts } from './chat-facts.ts';
import { ChatChunkWriter } from './write-chunks.ts';
import { type CompletionMessage, writeCompletion } from './write-completion.ts';

/*
 * Every recorded response of the four protocols as a chat completion: the chunks of a stream, joined as a client joins
 * them, are the whole completion.
 */

const facts = (error?: GatewayError): ChatFacts => ({
  id: 'gen-1',
  created: 1,
  requested: 'a/b',
  includesUsage: true,
  hidesReasoning: false,
  hasLegacyCalls: false,
  findProvider: () => 'Acme',
  findNativeReason: () => undefined,
  findError: () => error,
  rename: (text) => text,
  readsNumbers: false,
});

const base = (): ResponseObject => createResponseObject({}, 'resp_1', 1, 'a/b');
const createBuilder = (emitsDeltas: boolean): EventBuilder =>
  new EventBuilder(
    {
      base,
      model: () => 'acme/one',
      settle: (finish) => ({
        usage: finish?.usage
          ? {
              input_tokens: finish.usage.inputTokens,
              input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
              output_tokens: finish.usage.outputTokens,
              output_tokens_details: { reasoning_tokens: 0 },
              total_tokens: finish.usage.totalTokens,
              cost: null,
              is_byok: false,
            }
          : null,
        serviceTier: null,
        routerMetadata: undefined,
      }),
      now: () => 2,
      limitBytes: 1e8,
    },
    emitsDeltas,
  );

interface SentChunk {
  id: string;
  error?: { code: number; message: string };
  usage?: unknown;
  choices?: { delta: Record<string, never>; logprobs: { content: unknown[] } | null; finish_reason: string | null }[];
}

/** Reads the chunks of a stream, without its end. */
function readChunks(text: string): SentChunk[] {
  return text
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => JSON.parse(frame.slice(frame.indexOf('data: ') + 'data: '.length)) as SentChunk);
}

/** Joins deltas as clients do: texts are appended, entries of lists with one `index` are one entry. */
function join(chunks: readonly SentChunk[]): { message: CompletionMessage; logprobs: unknown[]; reasons: string[] } {
  const message = {} as Record<string, unknown>;
  const logprobs: unknown[] = [];
  const reasons: string[] = [];
  for (const { choices = [] } of chunks) {
    for (const choice of choices) {
      mergeInto(message, choice.delta);
      if (choice.logprobs) logprobs.push(...choice.logprobs.content);
      if (choice.finish_reason) reasons.push(choice.finish_reason);
    }
  }
  return { message: message as unknown as CompletionMessage, logprobs, reasons };
}

const constant = new Set(['type', 'id', 'format', 'role', 'index', 'name']);

function mergeInto(target: Record<string, unknown>, delta: Record<string, unknown>): void {
  for (const [key, value] of Object.entries(delta)) {
    const known = target[key];
    if (known === undefined || known === null || constant.has(key)) target[key] = structuredClone(value);
    else if (typeof value === 'string') target[key] = String(known) + value;
    else if (Array.isArray(value)) mergeList(known as Record<string, unknown>[], value);
    else if (value !== null) mergeInto(known as Record<string, unknown>, value as Record<string, unknown>);
  }
}

function mergeList(target: Record<string, unknown>[], entries: Record<string, unknown>[]): void {
  for (const entry of entries) {
    const known = entry['index'] === undefined ? undefined : target.find(({ index }) => index === entry['index']);
    if (known) mergeInto(known, entry);
    else target.push(structuredClone(entry));
  }
}

/** What a joined message and a whole one have in common: an absent field is a null, and calls have no index. */
function normalize(message: CompletionMessage): object {
  const details = message.reasoning_details?.map(({ format: _, signature, ...rest }: ReasoningDetail) => ({
    ...rest,
    signature: signature ?? null,
  }));
  return {
    ...message,
    content: message.content || null,
    refusal: message.refusal ?? null,
    reasoning_details: details?.sort((a, b) => (a.index ?? 0) - (b.index ?? 0)),
    tool_calls: message.tool_calls?.map(({ index: _, ...call }) => call),
  };
}

/** The facts about a request that the readers of some wires need. */
const contexts: Record<string, object> = {
  'openai-chat': {},
  'openai-responses': { reasoningFormat: 'openai-responses-v1' },
  'anthropic-messages': { summarizes: true },
  gemini: {},
};

/** Reads a stream up to its end or its error. */
function readStream(url: URL, kind: string): { batches: Chunk[][]; error: GatewayError | undefined } {
  const reader = wires.get(kind)!.text!.createReader(contexts[kind] as never);
  const batches: Chunk[][] = [];
  const keep = (chunks: Chunk[]): Chunk[] => {
    batches.push(chunks);
    return chunks;
  };
  try {
    replay(url, {
      read: (frame) => keep(reader.read(frame)),
      end: () => keep(reader.end()),
      counted: () => undefined,
      keptLength: () => 0,
    });
  } catch (error) {
    return { batches, error: asGatewayError(error) };
  }
  return { batches, error: undefined };
}

/** Serves a recording as the pipeline does. @returns undefined if it has no output, so that the error has a status */
function serve(
  url: URL,
  kind: string,
): { text: string; last: ResponseObject; error: GatewayError | undefined } | undefined {
  const { batches, error } = readStream(url, kind);
  const builder = createBuilder(true);
  const events: ResponseEvent[] = batches.flatMap((chunks) => builder.build(chunks));
  const isCut = !builder.ended;
  const failure = error ?? (isCut ? new GatewayError('upstream_failed', 'The stream was cut.') : undefined);
  if (isCut && events.length === 0) return undefined;
  if (isCut) events.push(...builder.fail(failure!));
  const writer = new ChatChunkWriter(facts(failure));
  const last = events.at(-1)!;
  if (!isTerminal(last)) throw new Error('The last event is not terminal.');
  return { text: events.map((event) => writer.write(event)).join(''), last: last.response, error: failure };
}

const kinds = Object.keys(contexts);

describe.each(kinds)('responses of %s as chat completions', (kind) => {
  const folder = new URL(`../../providers/${kind}/recordings/`, import.meta.url);
  const names = globSync('*.stream.http', { cwd: fileURLToPath(folder) }).map((path) => basename(path, '.stream.http'));
  const served = names.sort().flatMap((name) => {
    const result = serve(new URL(`${name}.stream.http`, folder), kind);
    return result ? [{ name, ...result }] : [];
  });

  it('has recordings that end, and some that do not', () => {
    expect(served.length).toBeGreaterThan(10);
    expect(served.some(({ last }) => last.status === 'failed')).toBe(true);
  });

  it.each(served)('joins the chunks of $name to the whole completion', ({ text, last }) => {
    const chunks = readChunks(text);
    const { message, logprobs, reasons } = join(chunks);
    const whole = writeCompletion(last, facts()) as {
      choices: { message: CompletionMessage; logprobs: { content: unknown[] } | null; finish_reason: string }[];
      usage: unknown;
    };

    const [choice] = whole.choices;
    expect(normalize(message)).toEqual(normalize(choice!.message));
    expect(logprobs).toEqual(choice!.logprobs?.content ?? []);
    expect(reasons).toEqual([choice!.finish_reason]);
    expect(chunks[0]!.choices![0]!.delta).toEqual({ role: 'assistant', content: '' });
    if (last.status === 'failed') return;
    expect(chunks.at(-1)).toMatchObject({ choices: [] });
    expect(chunks.at(-1)!.usage).toEqual(whole.usage);
  });

  it.each(served.filter(({ last }) => last.status === 'failed'))('ends $name with an error', ({ text, error }) => {
    const [alone, last] = readChunks(text).slice(-2);

    expect(text).toContain('event: error\ndata: {"error"');
    expect(last).toMatchObject({ error: { code: error!.errorType }, choices: [{ finish_reason: 'error' }] });
    expect(alone).toEqual({ error: last!.error });
  });

  it('writes the same completion of a response that was not streamed', () => {
    for (const { name, last } of served) {
      const url = new URL(`${name}.whole.http`, folder);
      if (last.status === 'failed' || !existsSync(url)) continue;
      const body = JSON.parse(readRecording(url).body.toString()) as unknown;
      const builder = createBuilder(false);
      const [event] = builder.build(wires.get(kind)!.text!.readWhole(body, contexts[kind] as never));
      const whole = writeCompletion((event as { response: ResponseObject }).response, facts());
      expect([name, withoutIds(whole)]).toEqual([name, withoutIds(writeCompletion(last, facts()))]);
    }
  });
});

/** Two parts of a summary, raw reasoning, and reasoning of its own after a text. */
const thoughts: Chunk[] = [
  { type: 'start' },
  { type: 'reasoning_summary', delta: 'On', part: 0 },
  { type: 'reasoning_summary', delta: 'e.', part: 0 },
  { type: 'reasoning_summary', delta: 'Two.', part: 1 },
  { type: 'reasoning', delta: 'Three.' },
  { type: 'text', delta: 'So.' },
  { type: 'reasoning', delta: 'Four.' },
  { type: 'finish', reason: 'stop' },
];

describe.each([
  ['a chat completion', new ChatChunkWriter(facts()), writeCompletion],
  ['a text completion', new TextChunkWriter(facts()), writeTextCompletion],
])('the reasoning of %s', (_name, writer, writeWhole) => {
  it('has an empty line between two parts', () => {
    const events = createBuilder(true).build(thoughts);
    const sent = readChunks(events.map((event) => writer.write(event)).join('')).flatMap(
      ({ choices }) => choices ?? [],
    );
    const pieces = sent.map((choice) => ({ ...choice, ...choice.delta }) as { reasoning?: string });
    const { response } = events.at(-1) as unknown as { response: ResponseObject };
    const whole = writeWhole(response, facts()) as { choices: [{ reasoning?: string; message?: CompletionMessage }] };
    const [{ message, reasoning = message?.reasoning }] = whole.choices;

    expect(reasoning).toBe('One.\n\nTwo.\n\nThree.\n\nFour.');
    expect(pieces.map((piece) => piece.reasoning ?? '').join('')).toBe(reasoning);
  });
});

/** The ids of reasoning are random unless the provider sends them. */
const withoutIds = (completion: object): unknown =>
  JSON.parse(JSON.stringify(completion, (key, value: unknown) => (key === 'id' ? undefined : value)));

describe('the recordings together', () => {
  it('have every kind of output', () => {
    const messages = kinds.flatMap((kind) => {
      const folder = new URL(`../../providers/${kind}/recordings/`, import.meta.url);
      return globSync('*.stream.http', { cwd: fileURLToPath(folder) }).flatMap((path) => {
        const result = serve(new URL(path, folder), kind);
        return result ? [join(readChunks(result.text))] : [];
      });
    });
    const has = (find: (message: CompletionMessage) => unknown) =>
      messages.filter(({ message }) => find(message)).length;
    expect(has(({ content }) => content)).toBeGreaterThan(20);
    expect(has(({ reasoning }) => reasoning)).toBeGreaterThan(4);
    expect(has(({ reasoning_details: details }) => details?.some(({ signature }) => signature))).toBeGreaterThan(1);
    expect(has(({ reasoning_details: details }) => details?.some(({ data }) => data))).toBeGreaterThan(1);
    expect(has(({ tool_calls: calls }) => calls)).toBeGreaterThan(3);
    expect(has(({ tool_calls: calls }) => (calls?.length ?? 0) > 1)).toBeGreaterThan(2);
    expect(has(({ annotations }) => annotations)).toBeGreaterThan(2);
    expect(has(({ images }) => images)).toBeGreaterThan(1);
    expect(has(({ refusal }) => refusal)).toBeGreaterThan(1);
    expect(messages.filter(({ logprobs }) => logprobs.length > 0).length).toBeGreaterThan(0);
    const ends = new Set(messages.flatMap(({ reasons }) => reasons));
    expect(ends).toEqual(new Set(['stop', 'tool_calls', 'length', 'content_filter', 'error']));
  });
});
