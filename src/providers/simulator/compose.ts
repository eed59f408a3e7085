import type { WireConversation } from './conversation.ts';
import type { ScriptTurn } from './language.ts';
import type { SimulatorModel } from './models.ts';
import { type Output, planOutputs } from './outputs.ts';
import { type Drawing, encodeDrawing } from './draw.ts';
import { seededId } from './seed.ts';
import { createMeter, cutTokens, guessLogprob, type Meter } from './tokens.ts';
import type { TokenCounts, Message, SimulatorRequest } from './wire.ts';

const TOKENS_OF_IMAGE = 256;
const EDGE = 256;
/** Number of partial images in a stream. */
const SKETCHES = 2;

/** Yields the complete response, message by message, up to `max_output_tokens`. */
export async function* compose(
  model: SimulatorModel,
  request: SimulatorRequest,
  conversation: WireConversation,
): AsyncGenerator<Message> {
  const { turn, seed, inputTokens } = conversation;
  const meter = createMeter(request.max_output_tokens);
  let hasCalled = false;
  yield { type: 'begin', model: request.model };
  for (const [index, output] of planOutputs(model, request, conversation).entries()) {
    yield* tell(output, `${seed}|${index}`, meter, {
      logprobs: turn.logprobs ?? request.logprobs,
      sketches: request.stream ? SKETCHES : 0,
    });
    if (meter.isFull) break;
    hasCalled ||= output.kind === 'call';
  }
  const reason = turn.finish ?? (meter.isFull ? 'length' : hasCalled ? 'tool_calls' : 'stop');
  yield { type: 'end', reason, usage: countUsage(meter, inputTokens, turn.usage) };
}

function countUsage(meter: Meter, input: number, told: ScriptTurn['usage']): TokenCounts | null {
  const { outputTokens: output, reasoningTokens: reasoning } = meter;
  return told === null ? null : { input, output, reasoning, cached: 0, ...told };
}

/** Messages in addition to the output itself. */
interface Extras {
  logprobs: number | undefined;
  /** Partial images. */
  sketches: number;
}

async function* tell(
  output: Output,
  seed: string,
  meter: Meter,
  { logprobs, sketches }: Extras,
): AsyncGenerator<Message> {
  switch (output.kind) {
    case 'reasoning':
      for (const text of cutTokens(output.summary ?? '')) yield { type: 'summary', text };
      for (const text of cutTokens(meter.take(output.text, 'reasoning'))) yield { type: 'reasoning', text };
      return;
    case 'text': {
      const said = meter.take(output.text, 'text');
      for (const text of cutTokens(said)) {
        yield logprobs === undefined
          ? { type: 'text', text }
          : { type: 'text', text, logprobs: [guessLogprob(text, logprobs)] };
      }
      for (const { url, title } of output.cites) {
        const annotation = { type: 'url_citation', url, title, start_index: 0, end_index: said.length };
        yield { type: 'cite', annotation };
      }
      return;
    }
    case 'refusal':
      for (const text of cutTokens(meter.take(output.text, 'text'))) yield { type: 'refusal', text };
      return;
    case 'call': {
      const { name, kind, namespace } = output.tool;
      const id = seededId('call_', seed);
      const args = meter.take(output.text, 'text');
      if (args === '' && meter.isFull) return;
      yield { type: 'call', id, name, kind, ...(namespace === undefined ? undefined : { namespace }) };
      for (const text of cutTokens(args)) yield { type: 'arguments', id, text };
      return;
    }
    case 'image': {
      const { prompt } = output;
      const id = seededId('ig_', seed);
      yield { type: 'drawing', id, prompt };
      const drawing: Drawing = { words: prompt, seed: prompt, size: { width: EDGE, height: EDGE }, share: 1 };
      for (let index = 0; index < sketches; index++) {
        const png = await encodeDrawing({ ...drawing, share: (index + 1) / (sketches + 1) }, 'png');
        yield { type: 'sketch', id, index, png };
      }
      yield { type: 'image', id, prompt, png: await encodeDrawing(drawing, 'png') };
      meter.add(TOKENS_OF_IMAGE);
    }
  }
}
