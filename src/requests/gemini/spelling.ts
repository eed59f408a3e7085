/** Fields whose members are the caller's own: arguments, results, schemas and labels. */
const own: ReadonlySet<string> = new Set([
  'args',
  'response',
  'parameters',
  'parametersJsonSchema',
  'responseSchema',
  'responseJsonSchema',
  'labels',
]);

/** Levels of a body that have fields of the format. */
const MAX_DEPTH = 12;

/**
 * Renames fields to lowerCamelCase, in place. The format accepts both spellings.
 *
 * @param except fields of the body that keep their names
 * @see https://protobuf.dev/programming-guides/json/
 */
export function spellFields(body: unknown, except: ReadonlySet<string>): void {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return;
  for (const name of Object.keys(body)) if (!except.has(name)) spellField(body as Record<string, unknown>, name, 1);
}

function spellField(object: Record<string, unknown>, given: string, depth: number): void {
  const value = object[given];
  let name = given;
  if (given.includes('_')) {
    name = given.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    if (name !== given && object[name] === undefined) {
      delete object[given];
      object[name] = value;
    }
  }
  if (!own.has(name)) spellValue(value, depth);
}

function spellValue(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return;
  if (Array.isArray(value)) for (const entry of value) spellValue(entry, depth + 1);
  else for (const name of Object.keys(value)) spellField(value as Record<string, unknown>, name, depth + 1);
}
