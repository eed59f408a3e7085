import { createHash, createPublicKey, verify } from 'node:crypto';

/** Time that a request can take to arrive longer than the fastest one. */
const MAX_DELAY_MS = 10_000;
/** Share by which the clock of the gateway can be slower than this one. */
const MAX_DRIFT = 1e-4;

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
 * Creates the check of the signatures of the gateway. Each is valid once and for a short time, because other processes of the
 * sandbox can see requests, and delay them. Numbers are milliseconds of a clock of the gateway that starts anywhere: the
 * fastest request so far says how late another one is.
 *
 * @param publicKey SPKI, DER, base64
 * @param now milliseconds of a clock that is never set
 * @see docs/reference/intern-runtimes.md#signatures
 */
export function createRequestCheck(
  publicKey: string,
  now: () => number = () => performance.now(),
): (request: SignedRequest) => boolean {
  const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
  const used = new Set<number>();
  let fastest: { delay: number; atMs: number } | undefined;
  return ({ method, path, body, signature }) => {
    const [, digits = '', text = ''] = /^(\d{1,15})\.([\w-]{86})$/.exec(String(signature)) ?? [];
    const number = Number(digits);
    const atMs = now();
    const delay = atMs - number;
    const expected = fastest ? fastest.delay + (atMs - fastest.atMs) * MAX_DRIFT : delay;
    if (delay - expected > MAX_DELAY_MS || used.has(number)) return false;
    const digest = createHash('sha256').update(body).digest('hex');
    const signed = Buffer.from(`${number}\n${method}\n${path}\n${digest}`);
    if (!verify(null, signed, key, Buffer.from(text, 'base64url'))) return false;
    used.add(number);
    fastest = { delay: Math.min(delay, expected), atMs };
    for (const each of used) if (each < number - MAX_DELAY_MS) used.delete(each); // too late by now
    return true;
  };
}
