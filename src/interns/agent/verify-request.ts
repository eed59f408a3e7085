import { createHash, createPublicKey, verify } from 'node:crypto';

/** Numbers that are remembered. Requests can overtake each other by less. */
const MAX_REMEMBERED = 1024;

/** A request to a control endpoint. */
export interface SignedRequest {
  method: string;
  path: string;
  /** As it was sent. Empty: there was none. */
  body: Buffer;
  /** The header `headgate-signature`. */
  signature: unknown;
}

/**
 * Creates the check of the signatures of the gateway. Each is valid once, because other processes of the sandbox can see
 * requests.
 *
 * @param publicKey SPKI, DER, base64
 * @see docs/reference/intern-runtimes.md#signatures
 */
export function createRequestCheck(publicKey: string): (request: SignedRequest) => boolean {
  const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
  const used = new Set<number>();
  let highest = 0;
  return ({ method, path, body, signature }) => {
    const [, digits = '', text = ''] = /^(\d{1,15})\.([\w-]{86})$/.exec(String(signature)) ?? [];
    const number = Number(digits);
    if (number <= highest - MAX_REMEMBERED || used.has(number)) return false;
    const digest = createHash('sha256').update(body).digest('hex');
    const signed = Buffer.from(`${number}\n${method}\n${path}\n${digest}`);
    if (!verify(null, signed, key, Buffer.from(text, 'base64url'))) return false;
    used.add(number);
    highest = Math.max(highest, number);
    for (const each of used) if (each <= highest - MAX_REMEMBERED) used.delete(each);
    return true;
  };
}
