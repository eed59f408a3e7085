import type { Frame, UpstreamRequest } from '../wire.ts';
import { compose } from './compose.ts';
import { readConversation } from './conversation.ts';
import { readError, createErrorResponse } from './errors.ts';
import type { ScriptTurn } from './language.ts';
import { models } from './models.ts';
import { pause } from './pause.ts';
import type { Message, SimulatorRequest } from './wire.ts';

/** Messages of a buffered response that are read together. A stream sends each token separately, like a model. */
const BATCH = 32;

/**
 * Responds like a provider behind HTTP.
 *
 * @throws {GatewayError} before the first batch, instead of an HTTP error status (an unknown model, `[[fail …]]`)
 * @throws the reason of the signal when it fires
 */
export async function* simulateResponse(
  request: UpstreamRequest<undefined>,
  signal: AbortSignal,
): AsyncGenerator<Frame[]> {
  signal.throwIfAborted();
  const asked = request.body as unknown as SimulatorRequest; // `writeRequest` in this folder wrote it
  const model = Object.hasOwn(models, asked.model) ? models[asked.model]! : undefined;
  if (!model) {
    const known = Object.keys(models).join(', ');
    throw readError(
      createErrorResponse(404, `The simulator has no model ${JSON.stringify(asked.model)}. It has ${known}.`),
    );
  }
  const conversation = readConversation(asked);
  const { turn } = conversation;
  if (turn.waitMs) await pause(turn.waitMs, signal);
  if (turn.failure) {
    const { status, message, retryAfterSeconds } = turn.failure;
    throw readError(createErrorResponse(status, message, retryAfterSeconds));
  }
  yield* pace(compose(model, asked, conversation), asked.stream === true, turn, signal);
}

/** Yields the messages in batches, token by token in a stream, and ends them early if a directive requests it. */
async function* pace(
  messages: AsyncIterable<Message>,
  isStreamed: boolean,
  turn: ScriptTurn,
  signal: AbortSignal,
): AsyncGenerator<Frame[]> {
  let batch: Frame[] = [];
  let tokens = 0;
  for await (const message of messages) {
    if (turn.break && (message.type === 'end' || (isToken(message) && tokens >= turn.break.after))) {
      const { how, status, message: words } = turn.break;
      if (how === 'break') batch.push(frame({ type: 'error', status, message: words }));
      if (batch.length > 0) yield batch;
      if (how === 'stall') await pause(undefined, signal);
      return;
    }
    if (isToken(message)) tokens++;
    batch.push(frame(message));
    const isSlow = turn.slowMs !== undefined && isToken(message);
    if (isSlow || (isStreamed && isToken(message)) || batch.length >= BATCH) {
      yield batch;
      batch = [];
      await pause(isSlow ? turn.slowMs! : 0, signal);
    }
  }
  if (batch.length > 0) yield batch;
}

const frame = (message: Message): Frame => ({ event: '', data: JSON.stringify(message) });

const isToken = ({ type }: Message): boolean =>
  type === 'text' || type === 'reasoning' || type === 'summary' || type === 'refusal' || type === 'arguments';
