import { createHash, generateKeyPairSync, sign } from 'node:crypto';

/** The header of requests to the control endpoints. */
export const SIGNATURE_HEADER = 'headgate-signature';

/**
 * Signs the requests to the control endpoints of one agent. The sandbox has only the public key, so nothing that its
 * processes can read lets them send such a request.
 *
 * @see docs/reference/intern-runtimes.md#signatures
 */
export class ControlSigner {
  /** SPKI, DER, base64. */
  readonly publicKey: string;
  private readonly privateKey;
  private last = 0;

  constructor() {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    this.publicKey = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    this.privateKey = privateKey;
  }

  /** @returns the value of the header, which is valid once */
  sign(method: string, path: string, body: string): string {
    const number = ++this.last;
    const digest = createHash('sha256').update(body).digest('hex');
    const signature = sign(null, Buffer.from(`${number}\n${method}\n${path}\n${digest}`), this.privateKey);
    return `${number}.${signature.toString('base64url')}`;
  }
}
