import { McpError, type McpServer } from '../../domain/mcp.ts';

/** Names of headers and variables whose value is a secret. */
const secretName = /auth|key|token|secret|password|credential|cookie/i;
/** Minimum characters of a secret that is masked: with such a name, and of a header with another name. */
const MIN_NAMED = 8;
const MIN_UNNAMED = 16;
const MASK = '[masked]';

/**
 * Creates a function that masks the headers, or the secret variables, of a server in the messages of the server, which can
 * repeat a key in a result or an error. It returns a value without a secret unchanged.
 *
 * @throws {McpError} `protocol` from the function, for a secret that cannot be masked
 */
export function createServerMask({ target }: Pick<McpServer, 'target'>): <Value>(value: Value) => Value {
  const isHttp = target.type === 'http';
  const secrets = Object.entries(isHttp ? target.headers : target.env)
    .flatMap(([name, value]) => {
      const isLong = value.length >= (secretName.test(name) ? MIN_NAMED : MIN_UNNAMED);
      if (!isLong || !(isHttp || secretName.test(name))) return [];
      const [, token] = /^\w+ +(\S+)$/.exec(value) ?? []; // `Bearer …`
      return token !== undefined && token.length >= MIN_NAMED ? [token, value] : [value];
    })
    .toSorted((a, b) => b.length - a.length);
  const written = secrets.map((secret) => JSON.stringify(secret).slice(1, -1));
  const has = (text: string): boolean => written.some((secret) => text.includes(secret));
  const mask = (text: string): string => secrets.reduce((masked, secret) => masked.replaceAll(secret, MASK), text);
  return <Value>(value: Value): Value => {
    if (secrets.length === 0) return value;
    const text = JSON.stringify(value) ?? '';
    if (!has(text)) return value;
    const masked = writeMasked(value, mask);
    if (masked !== undefined && !has(masked)) return JSON.parse(masked) as Value;
    throw new McpError('protocol', 'The MCP server sent a key of its own connection in a place that cannot be masked.');
  };
}

/** @returns undefined if the value is nested too deeply */
function writeMasked(value: unknown, mask: (text: string) => string): string | undefined {
  try {
    return JSON.stringify(value, (_, member: unknown) => (typeof member === 'string' ? mask(member) : member));
  } catch {
    return undefined;
  }
}
