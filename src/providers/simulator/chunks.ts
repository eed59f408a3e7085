import type { Chunk } from '../../domain/chunks.ts';
import { GatewayError } from '../../domain/errors.ts';
import { usage } from '../../domain/usage.ts';
import type { Frame, Reader } from '../wire.ts';
import { readUpstreamErrorObject } from '../errors/upstream-error.ts';
import type { Message } from './wire.ts';

/**
 * Reads a streamed response.
 *
 * @throws {GatewayError} for an `error` message, and `upstream_failed` for a truncated response
 */
export function createReader(): Reader {
  let finished = false;
  return {
    read(frame: Frame): Chunk[] {
      const chunks = readMessage(parse(frame.data));
      finished ||= chunks.some((chunk) => chunk.type === 'finish');
      return chunks;
    },
    end(): Chunk[] {
      if (!finished) throw cut();
      return [];
    },
  };
}

/** Reads a buffered response: the list of the messages that its stream would have. */
export function readWhole(body: unknown): Chunk[] {
  if (!Array.isArray(body)) throw cut();
  const chunks = body.flatMap(readMessage);
  if (!chunks.some((chunk) => chunk.type === 'finish')) throw cut();
  return chunks;
}

function cut(): GatewayError {
  return new GatewayError('upstream_failed', 'The simulator stopped before its response was complete.', {
    retryable: true,
  });
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw cut();
  }
}

function readMessage(data: unknown): Chunk[] {
  const message = data as Message; // only `answer.ts` in this folder writes frames, and it uses the same type
  switch (message.type) {
    case 'begin':
      return [{ type: 'start', model: message.model }];
    case 'reasoning':
      return [{ type: 'reasoning', delta: message.text }];
    case 'summary':
      return [{ type: 'reasoning_summary', delta: message.text }];
    case 'text':
      return [{ type: 'text', delta: message.text, ...(message.logprobs && { logprobs: message.logprobs }) }];
    case 'cite':
      return [{ type: 'annotation', annotation: message.annotation }];
    case 'refusal':
      return [{ type: 'refusal', delta: message.text }];
    case 'call': {
      const { id, name, kind, namespace } = message;
      return [{ type: 'tool_call', callId: id, name, kind, ...(namespace === undefined ? undefined : { namespace }) }];
    }
    case 'arguments':
      return [{ type: 'tool_call_arguments', callId: message.id, delta: message.text }];
    case 'drawing':
      return [
        { type: 'item', key: message.id, item: imageItem(message, 'in_progress', null) },
        progress(message.id, 'in_progress'),
        progress(message.id, 'generating'),
      ];
    case 'sketch': {
      const { id, index, png } = message;
      return [progress(id, 'partial_image', { partial_image_b64: png, partial_image_index: index })];
    }
    case 'image':
      return [
        progress(message.id, 'completed'),
        { type: 'item_done', key: message.id, item: imageItem(message, 'completed', message.png) },
      ];
    case 'error':
      throw readUpstreamErrorObject({ message: message.message }, message.status);
    case 'end':
      return [{ type: 'finish', reason: message.reason, ...(message.usage && { usage: readUsage(message.usage) }) }];
    default:
      return [];
  }
}

function progress(id: string, step: string, fields?: object): Chunk {
  return { type: 'relay', key: id, event: { type: `response.image_generation_call.${step}`, item_id: id, ...fields } };
}

function imageItem({ id, prompt }: { id: string; prompt: string }, status: string, result: string | null) {
  return { type: 'image_generation_call', id, status, prompt, result };
}

function readUsage({ input, output, cached, reasoning }: NonNullable<Extract<Message, { type: 'end' }>['usage']>) {
  return usage({ inputTokens: input, outputTokens: output, cachedTokens: cached, reasoningTokens: reasoning });
}
