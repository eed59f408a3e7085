import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { ReplyCheck } from './reply-check.ts';

/** The header of requests to the control endpoints. */
export const SIGNATURE_HEADER = 'headgate-signature';

/**
 * Signs the requests to the control endpoints of one agent, and checks its replies. The sandbox has only public keys, so
 * nothing that its processes can read lets them send such a request.
 *
 * @see docs/reference/intern-runtimes.md#signatures
 */
export class ControlSigner {
  /** SPKI, DER, base64. */
  readonly publicKey: string;
  private readonly privateKey;
  readonly replies = new ReplyCheck();
  private readonly now: () => number;
  private last = 0;

  /** @param now milliseconds of a clock that is never set */
  constructor(now: () => number = () => performance.now()) {
    this.now = now;
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    this.publicKey = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    this.privateKey = privateKey;
  }

  /** @returns the value of the header, which is valid once and for a short time, and its number */
  sign(method: string, path: string, body: string): { number: number; value: string } {
    const number = Math.max(this.last + 1, Math.floor(this.now()));
    this.last = number;
    const digest = createHash('sha256').update(body).digest('hex');
    const signature = sign(null, Buffer.from(`${number}\n${method}\n${path}\n${digest}`), this.privateKey);
    return { number, value: `${number}.${signature.toString('base64url')}` };
  }
}
