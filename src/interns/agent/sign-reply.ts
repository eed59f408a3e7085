import { createHmac, createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto';

/** The replies of an agent, which other processes of the sandbox cannot write. */
export interface ReplySigner {
  /** For the header `headgate-reply-key`. X25519, SPKI, DER, base64. */
  publicKey: string;
  /**
   * Opens the reply to a request. The function puts its authentication code before each text of the reply.
   *
   * @param number of the signature of the request
   */
  open(number: string, status: number): (text: string) => string;
}

/**
 * Creates a key that only this process and the gateway have.
 *
 * @param gatewayKey X25519, SPKI, DER, base64
 * @see docs/reference/intern-runtimes.md#replies
 */
export function createReplySigner(gatewayKey: string): ReplySigner {
  const own = generateKeyPairSync('x25519');
  const publicKey = createPublicKey({ key: Buffer.from(gatewayKey, 'base64'), format: 'der', type: 'spki' });
  const key = diffieHellman({ privateKey: own.privateKey, publicKey });
  return {
    publicKey: own.publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
    open(number, status) {
      let index = 0;
      return (text) => {
        const code = createHmac('sha256', key).update(`${number}\n${status}\n${index++}\n${text}`);
        return `${code.digest('base64url')} ${text}`;
      };
    },
  };
}
