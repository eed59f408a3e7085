/**
 * Measures the cost of each wire relative to `openai-chat`: writing the 2 KB request of the rig, reading a whole
 * body, reading an event of a stream of 200 deltas, and the same up to the text for the client. Without network, in
 * one process.
 *
 *     node bench/wires.ts              µs of CPU, best of the rounds, and the ratio to openai-chat
 *     node bench/wires.ts --rounds 20
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { EventWriter } from '../src/http/sse.ts';
import { type BuilderContext, EventBuilder } from '../src/pipeline/events/build-events.ts';
import { createResponseObject } from '../src/pipeline/events/response-object.ts';
import { wires } from '../src/providers/index.ts';
import { getTextWire } from '../src/providers/text-wire.ts';
import { readRequest } from '../src/requests/responses/request.ts';
import { bodyFile, writeBodies } from './bodies.ts';

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '8' } } });
const rounds = Number(options.rounds);
const text = 'The quick brown fox jumps over the lazy dog. '.repeat(10);
const deltas = 200;

/** A whole body of 450 characters and a stream of 200 deltas, in the format of each protocol. */
const answers: Record<string, { model: string; whole: object; frames: object[] }> = {
  'openai-chat': {
    model: 'm',
    whole: {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1_795_165_927,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 500, completion_tokens: 100, total_tokens: 600 },
    },
    frames: repeat((index) => ({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1_795_165_927,
      model: 'm',
      choices: [{ index: 0, delta: { content: ` word${index}` }, logprobs: null, finish_reason: null }],
    })),
  },
  'openai-responses': {
    model: 'm',
    whole: {
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      model: 'm',
      output: [
        {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text, annotations: [] }],
        },
      ],
      usage: { input_tokens: 500, output_tokens: 100, total_tokens: 600 },
    },
    frames: [
      {
        type: 'response.output_item.added',
        sequence_number: 2,
        output_index: 0,
        item: { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] },
      },
      ...repeat((index) => ({
        type: 'response.output_text.delta',
        sequence_number: index + 4,
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        delta: ` word${index}`,
        logprobs: [],
      })),
    ],
  },
  'anthropic-messages': {
    model: 'claude-sonnet-4-5',
    whole: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 500, output_tokens: 100 },
    },
    frames: [
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      ...repeat((index) => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text: ` word${index}` },
      })),
    ],
  },
  gemini: {
    model: 'gemini-2.5-flash',
    whole: {
      candidates: [{ content: { parts: [{ text }], role: 'model' }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 500, candidatesTokenCount: 100, totalTokenCount: 600 },
      modelVersion: 'm',
    },
    frames: repeat((index) => ({
      candidates: [{ content: { parts: [{ text: ` word${index}` }], role: 'model' }, index: 0 }],
      usageMetadata: { promptTokenCount: 500, candidatesTokenCount: index, totalTokenCount: 500 + index },
      modelVersion: 'm',
      responseId: 'r',
    })),
  },
};

function repeat(make: (index: number) => object): object[] {
  return Array.from({ length: deltas }, (_, index) => make(index));
}

const folder = mkdtempSync(join(tmpdir(), 'headgate-wires-'));
writeBodies(folder);
const body = readFileSync(bodyFile(folder, 'slug', '2k', false), 'utf8');
rmSync(folder, { recursive: true });

const context: BuilderContext = {
  base: () => createResponseObject({}, 'resp_1', 0, 'm'),
  model: () => 'acme/one',
  settle: () => ({ usage: null, serviceTier: null, routerMetadata: undefined }),
  now: () => 0,
  limitBytes: 1024 * 1024,
};

/** @returns CPU time of one call in µs, the best of the rounds */
function measure(work: () => unknown, times: number): number {
  for (let warm = 0; warm < times; warm++) work();
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage();
    for (let count = 0; count < times; count++) work();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / times);
  }
  return best;
}

const figures = Object.entries(answers).map(([id, { model, whole, frames }]) => {
  const wire = getTextWire(wires.get(id)!);
  const target = { endpoint: 'm at P', upstreamModel: model, stream: true, dialect: Object.freeze({}) };
  const { request } = readRequest(JSON.parse(body), {});
  const { readerContext } = wire.writeRequest(request, target);
  const wholeText = JSON.stringify(whole);
  const data = frames.map((frame) => ({ event: '', data: JSON.stringify(frame) }));
  return {
    id,
    write: measure(() => JSON.stringify(wire.writeRequest(request, target).body), 3000),
    whole: measure(() => wire.readWhole(JSON.parse(wholeText), readerContext), 10_000),
    event:
      measure(() => {
        const reader = wire.createReader(readerContext);
        for (const frame of data) reader.read(frame);
      }, 200) / deltas,
    client:
      measure(() => {
        const reader = wire.createReader(readerContext);
        const builder = new EventBuilder(context);
        const writer = new EventWriter();
        const chunks = data.flatMap((frame) => reader.read(frame));
        return builder.build(chunks).reduce((text, event) => text + writer.write(event), '').length;
      }, 200) / deltas,
  };
});

const base = figures.find(({ id }) => id === 'openai-chat')!;
const show = (value: number, of: number): string => `${value.toFixed(2)} µs (${(value / of).toFixed(2)} ×)`;
const lines = figures.map(({ id, write, whole, event, client }) => {
  const buffered = show(write + whole, base.write + base.whole);
  return `| ${id} | ${show(write, base.write)} | ${show(whole, base.whole)} | ${buffered} | ${show(event, base.event)} | ${show(client, base.client)} |`;
});
process.stdout.write(
  `| Wire | write 2 KB | read whole | both | read an event | event to client |\n|---|---|---|---|---|---|\n${lines.join('\n')}\n`,
);
