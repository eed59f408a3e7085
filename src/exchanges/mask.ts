const removed = '[removed]';

/** Response headers that describe the response and do not identify the caller. All other headers lose their value. */
const plainResponseHeaders =
  /^(?:content-(?:type|length|encoding|language)|transfer-encoding|date|server|vary|connection|keep-alive|cache-control|alt-svc|allow|retry-after(?:-ms)?|x-should-retry|(?:[a-z]+-)*ratelimit-[a-z-]+|[a-z-]+-processing-ms|[a-z]+-version|x-headgate-cut)$/;

/** Request headers that keep their value. A header that the configuration adds may be a secret, whatever its name. */
const plainRequestHeaders = /^(?:content-type|accept|user-agent|[a-z]+-version|[a-z]+-beta)$/;

/** Texts that have the form of a key or an account id, anywhere. */
const secretShapes: readonly RegExp[] = [
  // Provider keys, including keys with stars in the middle, as errors repeat them.
  /(?<![\w-])(?:sk|pk|rk|gsk|csk|xai|pplx|nvapi|fw|hf|tgp|ghp|key|api)[-_][\w*-]{16,}/g,
  /(?<![\w-])AIza[\w-]{30,}/g,
  /(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}/g, // a JSON web token
  /(?<=\b(?:bearer|basic) )[\w.~+/-]{16,}=*/gi,
  /(?<![\w-])(?:org|proj|project|acct|account|user|team|req)[-_](?=[a-z]*[A-Z\d])[A-Za-z\d]{10,}/g,
];

/** Fields that identify the caller. */
const identityFields = [
  'user',
  'user_id',
  'end_user',
  'end_user_id',
  'safety_identifier',
  'organization',
  'organization_id',
  'org_id',
  'account',
  'account_id',
  'project_id',
  'tenant_id',
  'workspace_id',
  'customer_id',
  'request_id',
  'session_id',
  'prompt_cache_key',
];
const identityField = new RegExp(`("(?:${identityFields.join('|')})"\\s*:\\s*)"(?:[^"\\\\]|\\\\.)+"`, 'g');

/**
 * Minimum length of a secret that is hidden everywhere. Shorter texts are words: the key `ollama` of a local server,
 * the user `ada`. Their headers and fields are hidden anyway.
 */
const shortestSecret = 8;

/** Hides the keys and the caller's identity in an exchange, so that it can be shared. The prompt stays. */
export class Mask {
  private readonly secrets: string[];

  /** @param known keys and end-user ids, which are hidden everywhere */
  constructor(known: readonly string[]) {
    const written = known.filter(({ length }) => length >= shortestSecret).flatMap(spellings);
    this.secrets = [...new Set(written)].sort((a, b) => b.length - a.length); // one may be a prefix of another
  }

  /** Changes only the hidden bytes, so that a body with invalid UTF-8 stays otherwise unchanged. */
  bytes(body: Buffer): Buffer {
    return Buffer.from(this.latin1(body.toString('latin1')), 'latin1');
  }

  text(text: string): string {
    return this.bytes(Buffer.from(text)).toString('utf8');
  }

  /** A JSON value. */
  json<Value>(value: Value): Value {
    return JSON.parse(this.text(JSON.stringify(value))) as Value; // only texts in it have changed
  }

  /** @param headers names in lower case */
  requestHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
    return this.headers(headers, plainRequestHeaders);
  }

  /** @param headers names in lower case */
  responseHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
    return this.headers(headers, plainResponseHeaders);
  }

  /** Keeps the names, because the presence of a header may be useful. */
  private headers(headers: Readonly<Record<string, string>>, plain: RegExp): Record<string, string> {
    const entries = Object.entries(headers);
    return Object.fromEntries(entries.map(([name, value]) => [name, plain.test(name) ? this.text(value) : removed]));
  }

  private latin1(text: string): string {
    let masked = text;
    for (const secret of this.secrets) masked = masked.replaceAll(secret, removed);
    for (const shape of secretShapes) masked = masked.replaceAll(shape, removed);
    return masked.replaceAll(identityField, `$1"${removed}"`);
  }
}

/** Returns the forms that a secret may have in a header, in JSON or in a URL, as the latin1 text of its UTF-8 bytes. */
function spellings(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const ascii = json.replaceAll(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const inJson = [json, ascii].flatMap((text) => [text, text.replaceAll('/', '\\/')]);
  const all = [secret, ...inJson, encodeURIComponent(secret)];
  return all.map((text) => Buffer.from(text).toString('latin1'));
}
