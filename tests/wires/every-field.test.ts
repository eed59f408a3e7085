import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recording } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { type Trial, tryEveryField, word } from './every-field.ts';
import { columns } from './matrix.ts';
import { type TriedApi, triedApis, wireIds } from './field-apis.ts';

type Fields = Record<string, unknown>;

/* Every field of a request is sent to the provider, or named in the response, or the request is rejected. */

/** Wires of providers without HTTP: the first event of their streams shows what they get. */
const local = ['ai-sdk', 'simulator'];

let gateway: TestGateway;
let upstream: ScriptedUpstream;
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({ providers: wireIds.map(writeProvider) });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

function writeProvider(wire: string): object {
  return {
    id: wire,
    wire,
    ...(wire === 'ai-sdk' && { package: '@ai-sdk/openai' }),
    ...(wire !== 'simulator' && { base_url: upstream.url, api_key: 'sk-1' }),
    models: [{ model: `${wire}/m`, upstream_model: columns[wire] ?? 'echo' }],
  };
}

function answerFor(wire: string): void {
  const name = wire === 'ai-sdk' ? 'openai-responses/recordings/text.stream' : `${wire}/recordings/text.whole`;
  upstream.always(recording(new URL(`../../src/providers/${name}.http`, import.meta.url)));
}

/** Adds what a field needs besides itself. @returns the body, and the path of the field in it */
function complete(
  { list, listEarlier, ...api }: TriedApi,
  { path, bodies }: Trial,
): { field: string; bodies: Fields[] } {
  const field = path
    .replaceAll(/\([^)]*\)/g, '')
    .replaceAll('[]', '[0]')
    .replaceAll('{}', '.key');
  let before = 0;
  const { hello } = api;
  const completed = bodies.map(({ [list]: given, ...body }) => {
    const choice = body['tool_choice'] ?? body['toolConfig'];
    if (typeof choice === 'object') body['tools'] = api.listChosen(choice as Fields);
    const { function_call: legacy } = body as { function_call?: { name?: string } };
    if (legacy) body['functions'] = [{ name: legacy.name ?? 'f' }];
    if (!Array.isArray(given) || path === list) return { ...body, [list]: given ?? [hello] };
    if (!path.startsWith(list)) return { ...body, [list]: [hello] };
    const items = [hello, ...listEarlier(given[0] as Fields)];
    before = items.length;
    return { ...body, [list]: [...items, ...given] };
  });
  return { field: field.replace(new RegExp(`^${list}\\[0\\]`), `${list}[${before}]`), bodies: completed };
}

const isException = ({ exceptions }: TriedApi, wire: string, field: string): boolean =>
  exceptions.some(([path, , wires = wireIds]) => path.test(field) && wires.includes(wire));

interface Outcome {
  status: number;
  /** The message of an error. */
  message: string;
  /** The fields that the response names. */
  named: readonly string[];
  sent: string;
}

async function send(wire: string, { list, pathOf }: TriedApi, body: Fields): Promise<Outcome> {
  const isLocal = local.includes(wire);
  const model = `${wire}/m`;
  const own = list === 'contents' ? {} : { model, ...(isLocal && { stream: true }) };
  const shown = isLocal ? { debug: { echo_upstream_body: true } } : {};
  const response = await gateway.post(pathOf(model, isLocal), { ...body, ...shown, ...own });
  const text = await response.text();
  const named = (response.headers.get('x-router-dropped-fields') ?? '').split(', ').filter((name) => name !== '');
  if (!response.ok) {
    const { error } = JSON.parse(text) as { error: { message: string } };
    return { status: response.status, message: error.message, named, sent: '' };
  }
  const sent = local.includes(wire) ? readShown(text) : upstream.requests.at(-1)!.text;
  return { status: 200, message: '', named, sent };
}

/** Returns the request in the event of a stream that shows it, without the id of the response. */
const readShown = (text: string): string => /"echo_upstream_body":(.*)$/m.exec(text)?.[1] ?? '';

const contains = (outer: string, inner: string): boolean =>
  inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);

/** Whether a response names a field, an object that contains it, or an entry of it. The cache and the effort are named once. */
const isNamed = (field: string, named: readonly string[]): boolean =>
  named.some((name) => {
    if (contains(name, field) || name === `${field}.key`) return true;
    const [, ofTool] = /^tools\.[\w./:-]+\.(\w+)$/.exec(name) ?? []; // tools are named by their names
    if (ofTool !== undefined) return field.includes('tools[0]') && field.endsWith(`.${ofTool}`);
    return /^(cache_control|reasoning\.effort)/.test(name) && `.${field}`.includes(`.${name}`);
  });

/** Whether an error names a field, or a field that contains it or that it contains. */
function isBlamed(field: string, message: string): boolean {
  const [name = ''] = message.replace(/^`/, '').split(/[:`]/);
  return contains(name.replace(/\.type$/, ''), field) || contains(field, name);
}

/** @returns why a field was lost; undefined: it was not */
async function explainLoss(api: TriedApi, wire: string, trial: Trial): Promise<string | undefined> {
  const { field, bodies } = complete(api, trial);
  const bySent = new Map<string, number>();
  for (const [index, body] of bodies.entries()) {
    const { status, message, named, sent } = await send(wire, api, body);
    if (status === 400 || status === 422) {
      if (!isBlamed(field, message)) return `the error does not name it: ${message.slice(0, 200)}`;
      continue;
    }
    if (status !== 200) return `${status} ${message}`;
    if (isNamed(field, named)) continue;
    if (bodies.length === 1 && !sent.includes(word)) return `lost; named: ${named.join(', ')}`;
    const same = bySent.get(sent);
    if (same !== undefined)
      return `the provider gets the same for values ${same} and ${index}; named: ${named.join(', ')}`;
    bySent.set(sent, index);
  }
  return undefined;
}

describe.each(triedApis)('$id', (api) => {
  const { schema, values, exceptions, besideSources } = api;

  it('has no exception for a field that does not exist', () => {
    const paths = [...tryEveryField(schema, values)].map(({ path }) => path);
    const stale = exceptions.filter(([path]) => !paths.some((each) => path.test(each)));
    expect(stale).toEqual([]);
  });

  it.each(wireIds)('loses no field on %s', async (wire) => {
    answerFor(wire);
    const lost: Fields = {};
    const tryAll = async (trials: Iterable<Trial>) => {
      for (const trial of trials) {
        if (isException(api, wire, trial.path)) continue;
        const reason = await explainLoss(api, wire, trial);
        if (reason !== undefined) lost[trial.path] = reason;
      }
    };
    await tryAll(tryEveryField(schema, values));
    if (besideSources) {
      const beside = tryEveryField(schema, { ...values, beside: besideSources });
      await tryAll(beside.filter(({ path }) => /\(input_(image|file)\)/.test(path)));
    }
    expect(lost).toEqual({});
  });
});
