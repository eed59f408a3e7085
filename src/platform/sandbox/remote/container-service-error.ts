import { parseJson } from '../../../domain/parse-json.ts';

const MAX_BODY = 16 * 1024 * 1024;
const MAX_MESSAGE = 500;

/** A refusal of a service that runs containers, or no connection to it. */
export class ContainerServiceError extends Error {
  /** HTTP status; undefined: there was no response. */
  readonly status: number | undefined;

  constructor(message: string, status?: number, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** Reads the body of a response. @throws {Error} if it is too large */
export async function readServiceBody(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > MAX_BODY) throw new Error(`The response has more than ${MAX_BODY} bytes.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

/** Reads the message of a failure. @returns undefined: the body has none */
export function readServiceMessage(text: string): string | undefined {
  try {
    const body = parseJson(text) as { message?: unknown } | null; // of a service
    return typeof body?.message === 'string' ? body.message.slice(0, MAX_MESSAGE) : undefined;
  } catch {
    return undefined;
  }
}
