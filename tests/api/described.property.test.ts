import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { definedRoutes } from '../../src/api/routes.ts';
import { createDocument } from '../../src/openapi/create-document.ts';
import { isFull } from '../../src/testing/full.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { arbitraryOf, type JsonSchema } from '../interface/arbitrary.ts';

/*
 * Requests with parameters and bodies that the OpenAPI document allows: no response is a 5xx or has a status that the
 * document lacks, and no parameter is refused. Bodies can break rules that a schema cannot express.
 */

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  schema: JsonSchema & { format?: string };
}
interface Operation {
  security: Record<string, unknown>[];
  parameters: Parameter[];
  requestBody?: { content: Record<string, { schema: JsonSchema }> };
  responses: Record<string, unknown>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, JsonSchema> };
}

const { paths, components } = createDocument('1.0.0', definedRoutes) as unknown as Document;
const definitions = Object.fromEntries(
  Object.entries(components.schemas).map(([name, schema]) => [`#/components/schemas/${name}`, schema]),
);

/** Parameters whose values the gateway has issued, or that depend on the day, the configuration, other parameters or objects. */
const dependent = new Set([
  'cursor',
  'starting_after',
  'after',
  'after_id',
  'pageToken',
  'date',
  'provider',
  'external_user',
  'since',
  'until',
  'time_zone', // a name of a database
  'max_cost',
  'max_duration',
  'tag',
  'confirm_default_workspace_deletion',
]);
/** The last segment of a call of the Gemini API, by its action. */
const calls = (model: string): string[] =>
  ['generateContent', 'streamGenerateContent', 'countTokens', 'embedContent', 'batchEmbedContents'].map(
    (action) => `${model}:${action}`,
  );
/** Values that exist, so that requests reach more than a 404. */
const known: Record<string, string[]> = {
  workspace_id: ['00000000-0000-4000-8000-0000000000a1'],
  id: ['00000000-0000-4000-8000-0000000000a1', 'ada'],
  author: ['simulator'],
  slug: ['echo', 'mine'],
  model: ['simulator/echo', ...calls('simulator/echo'), ...calls('simulator/embedding')],
  call: calls('echo'),
};

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ interns: {} });
});
afterAll(() => gateway.close());

/** These responses last: feeds, and requests to interns that run. */
const lasting = /^\/api\/v1\/(?:generations\/live$|interns\/\{intern_id\}\/)/;

const described = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([, { security }]) => security.length > 0 && !lasting.test(path))
    .map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, method, path, operation })),
);

interface Sent {
  /** By name. */
  path: Record<string, string>;
  query: Record<string, unknown>;
  body: unknown;
}

/** Generates requests that the description of an operation allows. */
function requestsOf({ parameters, requestBody }: Operation): fc.Arbitrary<Sent> {
  const generate = ({ name, schema }: Parameter): fc.Arbitrary<unknown> => {
    const generated = schema.format === 'date' ? fc.constant('2026-10-31') : arbitraryOf(schema, definitions);
    return known[name] ? fc.oneof(fc.constantFrom(...known[name]), generated) : generated;
  };
  const of = (place: Parameter['in'], requiredKeys?: string[]) => {
    const each = parameters.filter((parameter) => parameter.in === place);
    const required = requiredKeys ?? each.filter(({ required }) => required).map(({ name }) => name);
    return fc.record(Object.fromEntries(each.map((parameter) => [parameter.name, generate(parameter)])), {
      requiredKeys: required,
    });
  };
  const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
  const json = requestBody?.content['application/json'];
  return fc.record({
    // An empty segment is another path, and so are dots.
    path: of('path', inPath).map((values) =>
      Object.fromEntries(Object.entries(values).map(([name, value]) => [name, `${value || 'x'}`.replaceAll('.', '-')])),
    ),
    query: of('query'),
    body: json ? arbitraryOf(json.schema, definitions) : fc.constant(undefined),
  });
}

it.each(described)('$name takes what its description allows', async ({ method, path, operation }) => {
  const { security, responses } = operation;
  const isManagement = security.every((each) => 'managementKey' in each);
  const key = isManagement ? gateway.managementKey : gateway.key;
  await fc.assert(
    fc.asyncProperty(requestsOf(operation), async ({ path: inPath, query, body }) => {
      const url = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(inPath[name]!));
      const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, `${value}`]));
      const response = await fetch(`${gateway.url}${url}?${search}`, {
        method: method.toUpperCase(),
        headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      expect(response.status, text).toBeLessThan(500);
      expect(Object.keys(responses), text).toContain(String(response.status));
      if (response.status !== 400) return;
      const { error } = JSON.parse(text) as { error: { metadata?: { issues?: { path: string }[] } } };
      const refused = (error.metadata?.issues ?? []).map(({ path: field }) => field);
      const names = [...Object.keys(inPath), ...Object.keys(query)].filter((name) => !dependent.has(name));
      expect(
        names.filter((name) => refused.includes(name)),
        text,
      ).toEqual([]);
    }),
    { numRuns: isFull ? 150 : 15 },
  );
});
