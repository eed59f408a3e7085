import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkRequest } from '../../src/api/responses/check-request.ts';
import { arbitraryOf, type JsonSchema } from './arbitrary.ts';

const file = new URL('responses.schema.json', import.meta.url);
const definitions = (JSON.parse(readFileSync(file, 'utf8')) as { $defs: Record<string, JsonSchema> }).$defs;
const runs = { numRuns: 60 };

type Fields = Record<string, unknown>;

/**
 * What a shape allows and a rule of the pages forbids: the strict shapes state no rule between fields. Each entry mends
 * a generated object so that only its shape is left to judge; together they are the list of where we are stricter.
 */
const rules: ((fields: Fields) => void)[] = [
  (part) => {
    if (part.type === 'input_image' && part.file_id == null) part.image_url ??= 'https://example.com/a.png';
    if (part.type === 'input_file') part.file_url ??= 'https://example.com/a.pdf';
  },
  (tool) => {
    if (tool.type === 'function' && 'name' in tool) tool.name = 'lookup'; // 1 to 64 of [A-Za-z0-9_-]
    if (tool.defer_loading === true) tool.defer_loading = false; // needs tool search
    if (tool.type === 'mcp' && 'server_label' in tool) tool.server_url ??= 'https://example.com/mcp';
    if (tool.type === 'router:datetime' && 'parameters' in tool) tool.parameters = { timezone: 'UTC' };
    if (tool.type === 'router:advisor' && 'parameters' in tool) (tool.parameters as Fields).name = ' A-1 ';
  },
  (tool) => {
    if (tool.type !== 'router:subagent' || typeof tool.parameters !== 'object') return;
    const parameters = tool.parameters as Fields;
    parameters.name = 'worker';
    delete parameters.inherited_function_names; // must be functions of the request
    if ('tools' in parameters) parameters.tools = [{ type: 'router:files' }]; // server tools only
  },
  (search) => {
    if ('allowed_x_handles' in search) delete search.excluded_x_handles;
  },
  (choice) => {
    if (choice.type !== 'allowed_tools') return;
    for (const tool of choice.tools as Fields[]) tool.type = 'mcp'; // an entry names a type
  },
  (call) => {
    if (call.type === 'function_call') delete call.subagent_id; // must match a subagent item
  },
  (provider) => {
    if (typeof provider.max_price !== 'object' || provider.max_price === null) return;
    const prices = provider.max_price as Fields;
    for (const key of Object.keys(prices)) if (typeof prices[key] === 'string') prices[key] = '0.5';
  },
];

function mend(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) for (const rule of rules) rule(value as Fields);
  for (const each of Object.values(value)) mend(each);
}

/** Checks that every generated value of a shape passes, once mended, in the body that `place` puts it in. */
function passes(shape: JsonSchema, place: (value: unknown) => Fields): void {
  fc.assert(
    fc.property(arbitraryOf(shape, definitions), (value) => {
      const body: Fields = { model: 'acme/mock', input: 'hi', ...place(value) };
      mend(body);
      expect(checkRequest(body)).toEqual([]);
    }),
    runs,
  );
}

const namesOf = (definition: string): string[] =>
  definitions[definition]!.anyOf!.map((member) => member.$ref?.replace('#/$defs/', '') ?? '').filter(
    (name) => name !== '',
  );

const user = { role: 'user', content: 'hi' };

describe('the strict shapes of POST /responses', () => {
  it.each(namesOf('InputItem'))('%s passes in input', (name) => {
    passes(definitions[name]!, (item) => ({ input: [user, item] }));
  });

  it.each(namesOf('OutputItem'))('%s passes when it is replayed', (name) => {
    passes(definitions[name]!, (item) => ({ input: [user, item] }));
  });

  it.each(namesOf('Tool'))('%s passes in tools', (name) => {
    passes(definitions[name]!, (tool) => ({ tools: [tool] }));
  });

  it.each(namesOf('Plugin'))('%s passes in plugins', (name) => {
    passes(definitions[name]!, (plugin) => ({ plugins: [plugin] }));
  });

  it.each(namesOf('InputContentPart'))('%s passes in a message', (name) => {
    passes(definitions[name]!, (part) => ({ input: [{ role: 'user', content: [part] }] }));
  });

  /** Fields whose rules need more than their shape, with what the shape leaves open. */
  const narrowed: Record<string, JsonSchema> = {
    input: { type: 'string', minLength: 1 },
    max_output_tokens: { type: ['integer', 'null'], minimum: 1 },
    max_tool_calls: { type: ['integer', 'null'], minimum: 0 },
    model: { type: 'string', minLength: 1 },
    models: { type: 'array', items: { type: 'string', minLength: 1 } },
    previous_response_id: { type: 'null' },
  };
  const fields = definitions.Request!.properties!;

  it.each(Object.keys(fields))('%s passes at the top', (field) => {
    passes(narrowed[field] ?? fields[field]!, (value) => ({ [field]: value }));
  });
});
