import type { Chunk, FinishReason } from '../../domain/chunks.ts';
import { GatewayError } from '../../domain/errors.ts';
import { readOpenAiErrorObject } from '../openai-error.ts';
import type { Frame, Reader } from '../provider.ts';
import { createMessageReader } from './message.ts';
import { readFinishReason, readServiceTier, readUsage } from './usage.ts';
import type { ChatAnswer, ChatChoice, Reading } from './wire.ts';

/** Reads a stream of chat completion chunks. The `finish` chunk waits for usage, `[DONE]` or the end of the body. */
export function createReader(reading: Reading): Reader {
  const answer = createAnswerReader(reading);
  return {
    read({ event, data }: Frame): Chunk[] {
      if (data === '[DONE]') return answer.end();
      if (data === '') return []; // a keep-alive of some servers
      const chunk = parse(data);
      if (event === 'error') throw readOpenAiErrorObject(chunk.error ?? chunk, 200);
      return answer.read(chunk, 'delta');
    },
    end: answer.end,
  };
}

/** Reads a whole answer: one big delta under another name. */
export function readWhole(body: unknown, reading: Reading): Chunk[] {
  if (typeof body !== 'object' || body === null)
    throw senseless('The provider answered with something other than JSON.');
  const answer = createAnswerReader(reading);
  const chunks = answer.read(body as ChatAnswer, 'message');
  if (!answer.hasChoice()) throw senseless('The provider answered without a choice.');
  chunks.push(...answer.end());
  return chunks;
}

function parse(data: string): ChatAnswer {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (cause) {
    throw senseless('The provider sent a stream event that is not JSON.', cause);
  }
  if (typeof value !== 'object' || value === null)
    throw senseless('The provider sent a stream event that is no object.');
  return value as ChatAnswer;
}

const senseless = (message: string, cause?: unknown) =>
  new GatewayError('upstream_failed', message, { retryable: true, cause });

function createAnswerReader(reading: Reading) {
  const dropped = new Set<string>();
  const message = createMessageReader(reading, dropped);
  let begun = false;
  let seenChoice = false;
  let streamed = false;
  let reason: FinishReason | undefined;
  let usage: unknown;
  let serviceTier: string | undefined;
  let citations: unknown;
  let searchResults: unknown;
  let ended = false;

  function readChoice(choice: ChatChoice, key: 'delta' | 'message', chunks: Chunk[]): void {
    seenChoice = true;
    if (choice.delta) streamed = true;
    // Some servers repeat the text so far as `message` beside each delta; others stream one whole message.
    const said = choice[key] ?? (streamed ? undefined : choice.message);
    if (said) message.read(said, choice.logprobs, chunks);
    for (const name in choice) {
      switch (name) {
        case 'index':
        case 'delta':
        case 'message':
        case 'logprobs':
          break;
        case 'finish_reason':
          if (choice.finish_reason) reason = readFinishReason(String(choice.finish_reason), dropped);
          break;
        case 'error':
          if (choice.error) throw readOpenAiErrorObject(choice.error, 200);
          break;
        default:
          if (choice[name] !== null) dropped.add(`choices[].${name}`);
      }
    }
  }

  function readChoices(choices: ChatChoice[], key: 'delta' | 'message', chunks: Chunk[]): void {
    for (const choice of choices) {
      if (choice.index !== undefined && choice.index > 0) dropped.add(`choices[${choice.index}]`);
      else readChoice(choice, key, chunks);
    }
  }

  function end(): Chunk[] {
    if (ended || reason === undefined) return []; // without a reason the stream was cut
    ended = true;
    const chunks: Chunk[] = [];
    message.end(chunks, { citations, searchResults, cut: reason === 'length' });
    // Some servers say `stop` behind calls.
    const finish: Chunk = { type: 'finish', reason: reason === 'stop' && message.hasCalls() ? 'tool_calls' : reason };
    const counts = readUsage(usage, dropped);
    if (counts !== undefined) finish.usage = counts;
    if (serviceTier !== undefined) finish.serviceTier = serviceTier;
    if (dropped.size > 0) finish.dropped = [...dropped];
    chunks.push(finish);
    return chunks;
  }

  return {
    hasChoice: () => seenChoice,
    end,

    read(answer: ChatAnswer, key: 'delta' | 'message'): Chunk[] {
      if (ended) return [];
      if (answer.error) throw readOpenAiErrorObject(answer.error, 200); // says more than the finish reason beside it
      const chunks: Chunk[] = [];
      if (!begun) {
        begun = true;
        const { model } = answer;
        chunks.push(typeof model === 'string' && model !== '' ? { type: 'start', model } : { type: 'start' });
      }
      let counted = false;
      for (const name in answer) {
        const value = answer[name];
        switch (name) {
          case 'id':
          case 'created':
          case 'model':
          case 'error':
          case 'obfuscation': // padding against guesses from the length of packets
            break;
          case 'choices':
            if (Array.isArray(value)) readChoices(value as ChatChoice[], key, chunks);
            else if (value !== null) throw senseless('The provider sent choices that are no list.');
            break;
          case 'object':
            if (value === 'error') throw readOpenAiErrorObject(answer, 200); // older vLLM
            break;
          case 'usage':
            if (value) {
              usage = value; // some servers count on every chunk; the last word counts
              counted = true;
            }
            break;
          case 'x_groq': {
            const own = value as { usage?: unknown; error?: unknown } | null;
            if (own?.error) throw readOpenAiErrorObject({ message: own.error, type: 'server_error' }, 200);
            if (own?.usage && usage === undefined) {
              usage = own.usage;
              counted = true;
            }
            break;
          }
          case 'service_tier':
            if (typeof value === 'string') serviceTier = readServiceTier(value);
            break;
          case 'citations':
            citations = value;
            break;
          case 'search_results':
            searchResults = value;
            break;
          default:
            if (value !== null) dropped.add(name);
        }
      }
      if (counted && reason !== undefined) chunks.push(...end());
      return chunks;
    },
  };
}
