import { createHmac, createPublicKey, diffieHellman, generateKeyPairSync, timingSafeEqual } from 'node:crypto';

/** The header of the first health reply of an agent whose replies are authenticated. */
export const REPLY_KEY_HEADER = 'headgate-reply-key';
/** A code and the space after it. */
const PREFIX_LENGTH = 44;

/**
 * Checks that replies are from the agent. Its first health reply has its key: no command has run in the sandbox by then. An
 * agent without a key has replies that other processes of the sandbox can forge.
 *
 * @see docs/reference/intern-runtimes.md#replies
 */
export class ReplyCheck {
  /** X25519, SPKI, DER, base64. */
  readonly publicKey: string;
  private readonly privateKey;
  /** Null: the agent has none. Undefined: it has not replied yet. */
  private key: Buffer | null | undefined;

  constructor() {
    const { publicKey, privateKey } = generateKeyPairSync('x25519');
    this.publicKey = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    this.privateKey = privateKey;
  }

  /** Takes the key of the agent from its first health reply. Later ones have no effect. @throws {Error} if it is malformed */
  take(agentKey: unknown): void {
    if (this.key !== undefined) return;
    if (typeof agentKey !== 'string') {
      this.key = null;
      return;
    }
    const publicKey = createPublicKey({ key: Buffer.from(agentKey, 'base64'), format: 'der', type: 'spki' });
    this.key = diffieHellman({ privateKey: this.privateKey, publicKey });
  }

  /**
   * Opens the reply to a request. The function checks the texts of the reply, one after another, and removes their codes.
   * It returns undefined for a text that is not from the agent.
   */
  open(number: number, status: number): (line: string) => string | undefined {
    let index = 0;
    return (line) => {
      if (!this.key) return line;
      const text = line.slice(PREFIX_LENGTH);
      const code = createHmac('sha256', this.key).update(`${number}\n${status}\n${index++}\n${text}`);
      const given = Buffer.from(line.slice(0, PREFIX_LENGTH));
      const expected = Buffer.from(`${code.digest('base64url')} `);
      return given.length === expected.length && timingSafeEqual(given, expected) ? text : undefined;
    };
  }
}
