import { GatewayError } from '../../../domain/errors.ts';
import { SMALL_JSON } from '../../../domain/parse-json.ts';
import type { ResponseObject } from '../../../domain/response.ts';
import type { BodyLimit } from '../../../http/routes.ts';
import type { MessageBody } from '../../../http/socket-exchange.ts';
import { readJson, refuseExcess } from '../../../http/read-json.ts';

/** The last response of a lane, with everything that came before it. The next request can continue it. */
export interface Chain {
  readonly responseId: string;
  /** The key that it belongs to. */
  readonly keyHash: string;
  /** A body with its whole input. Undefined: other chains needed the memory. */
  body: Buffer | undefined;
  /** Its output, as JSON. */
  output: Buffer | undefined;
}

const sizeOf = ({ body, output }: Chain): number => (body?.length ?? 0) + (output?.length ?? 0);

/** The chains of all WebSockets of this process. The oldest ones make room for new ones. */
export class ChainStore {
  private readonly limitBytes: () => number;
  private readonly chains = new Set<Chain>();
  private bytes = 0;

  constructor(limitBytes: () => number) {
    this.limitBytes = limitBytes;
  }

  add(response: ResponseObject, keyHash: string, body: Buffer): Chain {
    const output = Buffer.from(JSON.stringify(response.output));
    const chain = { responseId: response.id, keyHash, body, output };
    this.chains.add(chain);
    this.bytes += sizeOf(chain);
    for (const oldest of this.chains) {
      if (this.bytes <= this.limitBytes()) break;
      this.drop(oldest);
    }
    return chain;
  }

  drop(chain: Chain | undefined): void {
    if (!chain || !this.chains.delete(chain)) return;
    this.bytes -= sizeOf(chain);
    chain.body = undefined;
    chain.output = undefined;
  }
}

/**
 * Returns the body of a request that continues a response: its input follows the input and the output before it.
 *
 * @param value the parsed body
 * @throws {GatewayError} `previous_response_not_found`, `payload_too_large` and `invalid_request`
 */
export function continueChain(chain: Chain, value: Record<string, unknown>, limit: BodyLimit): MessageBody {
  if (!chain.body || !chain.output) throw previousNotFound(chain.responseId);
  const { input: before } = readJson(chain.body) as { input?: unknown };
  const output = readJson(chain.output) as unknown[];
  const { input } = value;
  if (input !== undefined && input !== null && typeof input !== 'string' && !Array.isArray(input)) {
    return { bytes: Buffer.from(JSON.stringify(value)), value }; // a later check rejects it
  }
  const items = [...listItems(before), ...output, ...listItems(input)];
  const bytes = Buffer.from(JSON.stringify({ input: items }));
  if (bytes.length > limit.bytes) {
    throw new GatewayError(
      'payload_too_large',
      `The conversation is larger than ${limit.bytes} bytes (${limit.source}). Start a new one, or compact it.`,
    );
  }
  if (bytes.length > SMALL_JSON) refuseExcess(bytes);
  value['input'] = items;
  return { bytes, value };
}

const listItems = (input: unknown): unknown[] => {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return Array.isArray(input) ? input : [];
};

export const previousNotFound = (id: string): GatewayError =>
  new GatewayError(
    'previous_response_not_found',
    `Previous response with id '${id.slice(0, 100)}' not found. Send the whole conversation in \`input\`, without \`previous_response_id\`.`,
    { metadata: { issues: [{ path: 'previous_response_id', message: 'not found on this WebSocket' }] } },
  );
