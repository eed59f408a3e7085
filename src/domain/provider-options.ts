/** Fields that clients send to one provider as they are: `provider.options`, by the name of the provider. */
export type ProviderOptions = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const MAX_BYTES = 16_384;
const MAX_DEPTH = 8;

/**
 * Fields that the gateway alone writes, without case, `_` and `-`: the model, the conversation and its tools, what guardrails and
 * limits depend on, and keys. They are rejected in the body and in the objects of its fields.
 */
const reserved: ReadonlySet<string> = new Set(
  (
    'model models messages input contents prompt system instructions systeminstruction stream streamoptions ' +
    'tools toolchoice toolconfig functions functioncall functiondeclarations mcpservers plugins websearchoptions ' +
    'maxtokens maxoutputtokens maxcompletiontokens maxtoolcalls n candidatecount bestof servicetier speed background store ' +
    'provider user safetyidentifier promptcachekey previousresponseid conversation container cachedcontent ' +
    'apikey key keys authorization headers extraheaders extrabody extraquery proto constructor prototype'
  ).split(' '),
);
const normalize = (name: string): string => name.toLowerCase().replace(/[_-]/g, '');

/** @returns the first problem, with the path of its field in `provider.options`; undefined if there is none */
export function findOptionsProblem(
  options: Readonly<Record<string, unknown>>,
): { path: string; message: string } | undefined {
  for (const [provider, fields] of Object.entries(options)) {
    if (!isPlain(fields)) return { path: provider, message: 'must be an object' };
    for (const [name, value] of Object.entries(fields)) {
      if (reserved.has(normalize(name))) return { path: `${provider}.${name}`, message: 'cannot be set here' };
      const inner = isPlain(value) ? Object.keys(value).find((each) => reserved.has(normalize(each))) : undefined;
      if (inner !== undefined) return { path: `${provider}.${name}.${inner}`, message: 'cannot be set here' };
      if (isDeeper(value, MAX_DEPTH)) {
        return { path: `${provider}.${name}`, message: `is nested more than ${MAX_DEPTH} levels deep` };
      }
    }
  }
  if (Buffer.byteLength(JSON.stringify(options)) <= MAX_BYTES) return undefined;
  return { path: '', message: `has more than ${MAX_BYTES} bytes` };
}

/** Merges fields into the body of a request. Objects are merged, and other values are replaced. */
export function mergeOptions(body: Record<string, unknown>, fields: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(fields)) {
    const before = body[name];
    body[name] = isPlain(before) && isPlain(value) ? { ...before, ...value } : value;
  }
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)));
