import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aspectRatios, qualities, resolutions } from '../../src/domain/images.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { dataUrl, draw, paint, reference } from './images-lab.ts';
import { caseOf, failureOf, type ImageLab, imageCases, modes, openImageLab, imagesOf } from './images-wires.ts';

/** One lab for all tests: none of them breaks it, and each response is scripted before its request. */
let lab: ImageLab;
let made: Buffer;
beforeAll(async () => {
  lab = await openImageLab();
  made = await paint({ width: 64, height: 64 });
});
afterAll(() => lab.close());

/** Bodies that images.md rejects, the field that the error names, and the other field if two exclude each other. */
const refused: [string, object, string, ...string[]][] = [
  ['an empty prompt', { prompt: '' }, 'prompt'],
  ['a prompt of null', { prompt: null }, 'prompt'],
  ['more than 10 pictures', { n: 11 }, 'n'],
  ['a ratio that is none of the 24', { aspect_ratio: '7:5' }, 'aspect_ratio'],
  ['a tier in lower case', { resolution: '1k' }, 'resolution'],
  ['a size that is none', { size: 'large' }, 'size'],
  ['a size of one digit', { size: '9x9' }, 'size'],
  ['a size that is not whole', { size: '64.5x64' }, 'size'],
  ['a size and another tier', { size: '512', resolution: '1K' }, 'size', '`resolution` is "1K"'],
  ['pixels of another ratio', { size: '1000x1000', aspect_ratio: '16:9' }, 'size', '`aspect_ratio` "16:9"'],
  ['pixels a little off the ratio', { size: '1000x979', aspect_ratio: '1:1' }, 'size', '`aspect_ratio` "1:1"'],
  ['pixels of another tier', { size: '1024x1024', resolution: '4K' }, 'size', '`resolution` is "4K"'],
  ['pixels just above the tier', { size: '725x725', resolution: '512' }, 'size', '`resolution` is "512"'],
  ['a quality that is none', { quality: 'best' }, 'quality'],
  ['a format that is none', { output_format: 'gif' }, 'output_format'],
  ['a compression beyond 100', { output_compression: 101 }, 'output_compression'],
  ['a transparent ground in JPEG', { background: 'transparent', output_format: 'jpeg' }, 'background', 'output_format'],
  ['a transparent ground in no format', { background: 'transparent' }, 'background', 'output_format'],
  ['a transparent ground in SVG', { background: 'transparent', output_format: 'svg' }, 'background', 'output_format'],
  ['a seed that is no integer', { seed: 1.5 }, 'seed'],
  ['17 references', { input_references: Array(17).fill(reference('data:,')) }, 'input_references'],
  ['a reference by FTP', { input_references: [reference('ftp://example.com/a')] }, 'input_references[0].image_url.url'],
  ['a long user', { user: 'x'.repeat(257) }, 'user'],
  ['a long session', { session_id: 'x'.repeat(257) }, 'session_id'],
  ['a model of null', { model: null }, 'model'],
  ['no picture', { n: 0 }, 'n'],
  ['half a picture', { n: 1.5 }, 'n'],
  ['a compression below 0', { output_compression: -1 }, 'output_compression'],
  ['a seed beyond the safe integers', { seed: 2 ** 53 }, 'seed'],
  ['a stream that is a word', { stream: 'yes' }, 'stream'],
  [
    'a reference of another kind',
    { input_references: [{ ...reference('data:,'), type: 'file' }] },
    'input_references[0].type',
  ],
  ['a reference without an address', { input_references: [reference('')] }, 'input_references[0].image_url.url'],
  ['options that are none', { provider: { options: { openai: 1 } } }, 'provider.options.openai'],
  ['fallbacks that are a word', { provider: { allow_fallbacks: 'no' } }, 'provider.allow_fallbacks'],
  ['a list of providers that is a word', { provider: { only: 'bfl' } }, 'provider.only'],
  ['a trace of other than words', { trace: { trace_id: 1 } }, 'trace.trace_id'],
  ['an order that is unknown', { provider: { sort: 'fame' } }, 'provider.sort'],
];

const everywhere = [...imageCases, ...modes.map((mode) => ({ wire: 'simulator' as const, mode }))];

describe.each(everywhere)('$wire, $mode', ({ wire, mode }) => {
  const ask = (body: object) =>
    lab.ask({ wire, mode }, wire === 'simulator' ? { model: 'simulator/image', ...body } : body);

  it.each(refused)('rejects %s, without a call to a provider', async (_, body, param, other) => {
    const before = lab.upstream.requests.length;
    const outcome = await ask(body);
    expect(outcome.status).toBe(400);
    const { error } = outcome.body;
    expect(error).toMatchObject({ code: 400, metadata: { error_type: 'invalid_request', param } });
    expect(error!.message).toContain(param);
    expect(error!.message).toContain(other ?? '');
    expect(lab.upstream.requests).toHaveLength(before);
  });

  it.each([
    ['each of the 24 ratios', aspectRatios.map((aspect_ratio) => ({ aspect_ratio }))],
    ['each tier, as resolution and as size', resolutions.flatMap((tier) => [{ resolution: tier }, { size: tier }])],
    ['a tier with a ratio', [{ size: '2K', aspect_ratio: '16:9' }]],
    ['pixels that agree with ratio and tier', [{ size: '1024x1024', aspect_ratio: '1:1', resolution: '1K' }]],
    [
      'pixels that nearly agree',
      [
        { size: '1000x981', aspect_ratio: '1:1' },
        { size: '724x724', resolution: '512' },
      ],
    ],
    ['pixels with the ratio auto', [{ size: '1000x600', aspect_ratio: 'auto' }]],
    ['each quality', qualities.map((quality) => ({ quality }))],
    ['each format of pixels', ['png', 'jpeg', 'webp'].map((output_format) => ({ output_format }))],
    ['each ground', ['auto', 'transparent', 'opaque'].map((background) => ({ background, output_format: 'png' }))],
    ['a compression, that PNG does without', [{ output_format: 'png', output_compression: 50 }]],
    ['fields that nobody knows', [{ colour: 'red' }]],
    [
      'null in every optional field',
      [
        ...['n', 'aspect_ratio', 'resolution', 'size', 'quality', 'output_format', 'output_compression', 'background'],
        ...['input_references', 'seed', 'stream', 'provider', 'session_id', 'user', 'trace'],
      ].map((field) => ({ [field]: null })),
    ],
    [
      'preferences of null',
      [{ provider: { only: null, ignore: null, order: null, sort: null, allow_fallbacks: null } }],
    ],
  ])('accepts %s', async (_, bodies) => {
    if (wire !== 'simulator') lab.upstream.always(caseOf(wire).makes([made]));
    const outcomes = await Promise.all(bodies.map((body) => ask(body)));
    expect(outcomes.map(failureOf).filter(({ status }) => status !== 200)).toEqual([]);
    for (const outcome of outcomes) expect(imagesOf(outcome)).toHaveLength(1);
  });
});

describe.each(imageCases)('$wire, $mode', ({ wire, mode }) => {
  const how = { wire, mode };
  const serve = (): void => lab.upstream.always(caseOf(wire).makes([made]));
  const parameters = async (): Promise<Record<string, { values?: string[]; max?: number }>> => {
    const answer = await lab.gateway.get(`/images/models/${wire}/one/endpoints`);
    const { endpoints } = (await answer.json()) as { endpoints: { supported_parameters: never }[] };
    return endpoints[0]!.supported_parameters;
  };

  it('reports dropped and changed settings that affect the image', async () => {
    serve();
    const can = await parameters();
    const body = { quality: 'max', seed: 7, output_format: 'jpeg', output_compression: 50, colour: 'red' };
    const headers = { 'x-router-metadata': 'enabled' };
    const streamed = mode === 'streamed' && { stream: true };
    const { body: whole, events } = await draw(
      lab.gateway,
      { model: `${wire}/one`, ...body, ...streamed },
      { headers },
    );
    const { params } = (whole.router_metadata ?? (events.at(-1) as unknown as typeof whole).router_metadata) as {
      params: { dropped_fields?: string[]; ignored_fields: string[] };
    };
    expect(params.ignored_fields).toEqual(['colour']);
    for (const name of ['quality', 'seed', 'output_compression']) {
      if (!can[name]) expect(params.dropped_fields).toContain(name);
    }
  });

  it('rejects SVG if it generates none', async () => {
    const { output_format: can } = await parameters();
    expect(can?.values ?? []).not.toContain('svg');
    const before = lab.upstream.requests.length;
    expect(failureOf(await lab.ask(how, { output_format: 'svg' }))).toMatchObject({ status: 400 });
    expect(lab.upstream.requests).toHaveLength(before);
  });

  it('rejects more references than it accepts', async () => {
    const { input_references: can } = await parameters();
    const max = can?.max ?? 0;
    if (max >= 16) return; // the interface has the same limit
    const before = lab.upstream.requests.length;
    const input_references = Array(max + 1).fill(reference(dataUrl(made)));
    expect(failureOf(await lab.ask(how, { input_references }))).toMatchObject({ status: 400, type: 'invalid_request' });
    expect(lab.upstream.requests).toHaveLength(before);
  });

  it('sends no reference that is not an image', async () => {
    const before = lab.upstream.requests.length;
    const outcome = await lab.ask(how, { input_references: [reference(dataUrl(Buffer.from('hello there')))] });
    expect(outcome.body.error).toMatchObject({ metadata: { error_type: 'invalid_image' } });
    expect(lab.upstream.requests).toHaveLength(before);
  });

  it('is not called if provider.ignore excludes it', async () => {
    serve();
    expect((await lab.ask(how, { provider: { only: [wire] } })).status).toBe(200);
    const before = lab.upstream.requests.length;
    expect(failureOf(await lab.ask(how, { provider: { ignore: [wire] } })).status).toBe(404);
    expect(lab.upstream.requests).toHaveLength(before);
  });
});

describe('image providers that are detected by a key', () => {
  let gateway: TestGateway;
  afterAll(() => gateway.close());

  it('have the models and prices of the catalog', async () => {
    const { url } = lab.upstream;
    const ids = ['bfl', 'recraft', 'fal'] as const;
    gateway = await testGateway({
      providers: ids.map((id) => ({ id, base_url: url, api_key: 'a-key-of-the-provider' })),
    });
    const { data } = (await (await gateway.get('/images/models')).json()) as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).toEqual(
      expect.arrayContaining([
        'black-forest-labs/flux.2-pro',
        'black-forest-labs/flux.1-dev',
        'recraft/recraft-v3-vector',
      ]),
    );
    lab.upstream.always(caseOf('bfl').makes([made]));
    const provider = { only: ['bfl'] };
    const drawn = await draw(gateway, { model: 'black-forest-labs/flux.2-pro', provider });
    expect(drawn.body.usage!['cost']).toBeCloseTo(0.015 + 0.015 * 0.064 * 0.064, 8);
    expect(lab.upstream.requests.map(({ path }) => path)).toContain('/v1/flux-2-pro');
  });
});
