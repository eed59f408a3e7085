import { GatewayError, invalidRequest } from '../../../domain/errors.ts';
import { readJson } from '../../../http/read-json.ts';
import { isObject } from '../../../schema/by-kind.ts';
import { show } from '../../../schema/report.ts';

/** A message that requests a response. */
export interface CreateMessage {
  /** The lane. Empty: the default lane. */
  streamId: string;
  previousResponseId: string | undefined;
  isWarmUp: boolean;
  /** The body of the request. */
  value: Record<string, unknown>;
}

const streamIdShape = /^[\w.-]{1,256}$/;

/**
 * Reads a message of a client.
 *
 * @returns undefined if it needs no response
 * @throws {GatewayError} if it is malformed
 * @see docs/reference/responses-websocket.md
 */
export function readCreateMessage(bytes: Buffer): CreateMessage | undefined {
  const event = readJson(bytes);
  if (!isObject(event)) throw invalidRequest([{ path: '', message: 'The message is not a JSON object.' }]);
  const { type, stream_id: streamId, previous_response_id: previous, generate, ...value } = event;
  if (type === 'response.processed') return undefined; // Codex confirms that it has used a response
  if (type !== 'response.create') {
    const message = `must be \`response.create\`, got ${show(type)}. To cancel a response, close the WebSocket.`;
    throw invalidRequest([{ path: 'type', message }]);
  }
  if (previous !== undefined && previous !== null && typeof previous !== 'string') {
    throw invalidRequest([
      { path: 'previous_response_id', message: `must be a string or null, got ${show(previous)}` },
    ]);
  }
  if (generate !== undefined && generate !== null && typeof generate !== 'boolean') {
    throw invalidRequest([{ path: 'generate', message: `must be true, false or null, got ${show(generate)}` }]);
  }
  value['stream'] = true;
  return {
    streamId: readStreamId(streamId),
    previousResponseId: previous ?? undefined,
    isWarmUp: generate === false,
    value,
  };
}

function readStreamId(streamId: unknown): string {
  if (streamId === undefined || streamId === null) return '';
  if (typeof streamId === 'string' && streamIdShape.test(streamId)) return streamId;
  throw new GatewayError(
    'invalid_stream_id',
    '`stream_id` must have 1 to 256 letters, digits, underscores, hyphens and periods. Omit it for the default lane.',
    { metadata: { issues: [{ path: 'stream_id', message: `got ${show(streamId)}` }] } },
  );
}
