import type { Chunk } from '../../src/domain/chunks.ts';
import { createReader, readWhole } from '../../src/providers/openai-chat/chunks.ts';
import type { ReaderContext } from '../../src/providers/openai-chat/wire.ts';
import { readRecording, replay } from '../../src/testing/replay.ts';

const recording = (name: string) => new URL(`../../src/providers/openai-chat/recordings/${name}.http`, import.meta.url);

/** The chunks of a recorded stream of chat completions. */
export const stream = (name: string, readerContext: ReaderContext = {}): Chunk[] =>
  replay(recording(`${name}.stream`), createReader(readerContext));

/** The chunks of a recorded buffered response. */
export const whole = (name: string): Chunk[] =>
  readWhole(JSON.parse(readRecording(recording(`${name}.whole`)).body.toString()), {});

/** The chunks of a stream of these deltas, without its start. @param rest further fields of the last delta */
export function readDeltas(deltas: object[], rest: object = {}, readerContext: ReaderContext = {}): Chunk[] {
  const reader = createReader(readerContext);
  const frames: unknown[] = deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] }));
  frames.push({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], ...rest });
  const chunks = frames.flatMap((frame) => reader.read({ event: '', data: JSON.stringify(frame) }));
  return [...chunks, ...reader.read({ event: '', data: '[DONE]' }), ...reader.end()].slice(1);
}
