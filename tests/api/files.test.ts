import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deflateSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDocx, createPdf, createXlsx, createZip } from '../../src/testing/sample-files.ts';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { answer, ask as askAt, type Case, cases, complaint, provider } from './lab.ts';
import { main, manage, other } from './manage.ts';
import { expectFailure, expectText, type Outcome } from './outcome.ts';

let upstream: ScriptedUpstream;
/** An OCR service with the API of Mistral. */
let service: ScriptedUpstream;
let files: Server;
let filesUrl: string;
let served: Buffer = Buffer.alloc(0);
let servedCount = 0;
/** Without an OCR service. */
let gateway: TestGateway;
let withOcr: TestGateway;

const pricing = { prompt: '0.000001', completion: '0.000002' };
const models = (name: string, input: string[] | undefined) =>
  (['openai-chat', 'openai-responses'] as const).map((wire) =>
    provider(wire, name, upstream, {
      models: [{ model: `${wire}/${name}`, upstream_model: name, pricing, ...(input && { capabilities: { input } }) }],
    }),
  );
const open = (file_parser: object = {}, more: object = {}) =>
  testGateway({
    providers: [
      ...models('text', ['text']),
      ...models('other', ['text']),
      ...models('seeing', ['text', 'image']),
      ...models('reading', ['text', 'image', 'file']),
      ...models('unknown', undefined),
    ],
    outbound: { allow: [new URL(filesUrl).host] },
    plugins: { file_parser: { max_pages: 20, max_files: 4, ...file_parser } },
    ...more,
  });

beforeAll(async () => {
  files = createServer((_request, response) => {
    servedCount++;
    response.end(served);
  });
  files.listen(0, '127.0.0.1');
  await once(files, 'listening');
  filesUrl = `http://127.0.0.1:${(files.address() as AddressInfo).port}`;
  [upstream, service] = await Promise.all([startUpstream(), startUpstream()]);
  const ocr = { url: `${service.url}/ocr`, api_key: 'key-of-the-ocr-service', model: 'ocr-1', price_per_page: 0.5 };
  [gateway, withOcr] = await Promise.all([open(), open({ ocr })]);
});
afterAll(async () => {
  await Promise.all([gateway.close(), withOcr.close()]);
  await Promise.all([upstream.close(), service.close()]);
  files.closeAllConnections();
  files.close();
});
beforeEach(() => {
  upstream.always((request) => answer({ wire: wireOf(request), mode: modeOf(request) }));
  service.always(() => json({ pages: [] }));
  servedCount = 0;
});

const wireOf = ({ path }: ScriptedRequest) => (path.endsWith('/responses') ? 'openai-responses' : 'openai-chat');
const modeOf = ({ body }: ScriptedRequest) => ((body as { stream?: boolean }).stream ? 'streamed' : 'buffered');

const report = createPdf([['Revenue grew.'], ['Costs fell.']]);
const reportText = 'Revenue grew.\n\nCosts fell.';
/** As `sha256sum` prints it, and the engine. */
const hashPattern = (engine: string) => expect.stringMatching(new RegExp(`^[0-9a-f]{64}-${engine}$`));
const dataUrl = (bytes: Buffer, type = 'application/pdf') => `data:${type};base64,${bytes.toString('base64')}`;
const filePart = (bytes: Buffer, filename = 'report.pdf') => ({
  type: 'input_file',
  filename,
  file_data: dataUrl(bytes),
});
const question = { type: 'input_text', text: 'What does it say?' };
const user = (...content: object[]) => ({ type: 'message', role: 'user', content });

interface Ask {
  at?: TestGateway;
  model?: string;
  models?: string[];
  engine?: string;
  input?: object[];
  more?: object;
  key?: string;
}

function ask(
  { wire, mode }: Case,
  parts: object[],
  { at = gateway, model = 'text', models, engine, input, more, key }: Ask = {},
) {
  const body = {
    model: `${wire}/${model}`,
    ...(models && { models: models.map((name) => `${wire}/${name}`) }),
    input: input ?? [user(question, ...parts)],
    ...(engine && { plugins: [{ id: 'file-parser', pdf: { engine } }] }),
    ...more,
  };
  return askAt(at, mode, body, {
    headers: { 'x-router-metadata': 'enabled' },
    ...(key && { key }),
  });
}

/** Everything that the provider got, as text. */
const sent = (): string => upstream.requests.at(-1)!.text;
const framed = (text: string, name = 'report.pdf') =>
  JSON.stringify(`<file name="${name}">\n${text}\n</file>`).slice(1, -1);

interface Stage {
  type: string;
  name: string;
  data: Record<string, unknown>;
  cost_usd?: number;
}
const stagesOf = ({ response, envelope }: Outcome): Stage[] => {
  const metadata = (response?.router_metadata ?? envelope?.router_metadata) as { pipeline?: Stage[] } | undefined;
  return (metadata?.pipeline ?? []).filter(({ name }) => name === 'file-parser');
};

/** The annotations of the first text. */
function annotationsOf({ response, events }: Outcome): unknown[] {
  const [item] = response!.output as object[] as { content: { annotations: unknown[] }[] }[];
  const { annotations } = item!.content[0]!;
  if (events.length > 0) {
    const added = events.filter(({ type }) => type === 'response.output_text.annotation.added');
    expect(added).toEqual(
      annotations.map((annotation, annotation_index) =>
        expect.objectContaining({ annotation, annotation_index, content_index: 0, output_index: 0 }),
      ),
    );
  }
  return annotations;
}

describe.each(cases)('a file for a model that cannot read it, $wire, $mode', (how) => {
  it('becomes text, an annotation and a stage', async () => {
    const outcome = await ask(how, [filePart(report)]);
    expectText(outcome, 'Hello there.');
    expect(sent()).toContain(framed(reportText));
    expect(sent()).not.toContain(report.toString('base64'));
    expect(annotationsOf(outcome)).toEqual([
      {
        type: 'file',
        file: { hash: hashPattern('cloudflare-ai'), name: 'report.pdf', content: [{ type: 'text', text: reportText }] },
      },
    ]);
    expect(stagesOf(outcome)).toEqual([
      {
        type: 'plugin',
        name: 'file-parser',
        summary: 'cloudflare-ai made text of 1 file.',
        data: { engine: 'cloudflare-ai', files: 1, pages: 2, reused: 0 },
      },
    ]);
  });

  it('is not parsed again if the annotation is sent back', async () => {
    const first = await ask(how, [filePart(report)]);
    const [item] = first.response!.output as object[] as {
      content: { annotations: { file: { content: object[] } }[] }[];
    }[];
    item!.content[0]!.annotations[0]!.file.content = [{ type: 'text', text: 'As parsed before.' }];
    const input = [user(question, filePart(report)), item!, user({ type: 'input_text', text: 'And now?' })];
    const second = await ask(how, [], { input });
    expectText(second, 'Hello there.');
    expect(sent()).toContain(framed('As parsed before.'));
    expect(sent()).not.toContain('annotations":[{');
    expect(stagesOf(second)).toMatchObject([{ data: { files: 1, pages: 0, reused: 1 } }]);
    expect(annotationsOf(second)).toMatchObject([{ file: { content: [{ text: 'As parsed before.' }] } }]);
  });

  it('is parsed once, for several attempts and if it occurs twice', async () => {
    upstream.respond(json(complaint('busy'), { status: 503 }));
    const twice = [user(question, filePart(report), filePart(report, 'again.pdf'))];
    const outcome = await ask(how, [], { models: ['other'], input: twice });
    expectText(outcome, 'Hello there.');
    expect(upstream.requests.at(-1)!.body).toMatchObject({ model: 'other' });
    expect(sent()).toContain(framed(reportText));
    expect(sent()).toContain(framed(reportText, 'again.pdf'));
    expect(stagesOf(outcome)).toMatchObject([{ data: { files: 1, pages: 2 } }]);
    expect(annotationsOf(outcome)).toHaveLength(1);
  });

  it('is sent itself to a fallback that can read it', async () => {
    upstream.respond(json(complaint('busy'), { status: 503 }));
    const outcome = await ask(how, [filePart(report)], { models: ['reading'] });
    expectText(outcome, 'Hello there.');
    expect(sent()).toContain(report.toString('base64'));
    expect(annotationsOf(outcome)).toEqual([]);
    expect(stagesOf(outcome)).toHaveLength(1); // the first model got its text
  });

  it('is in the error, if every provider failed after it was parsed', async () => {
    upstream.always(json(complaint('busy'), { status: 503 }));
    const outcome = await ask(how, [filePart(report)]);
    const { error } = expectFailure(outcome, 529, 'provider_overloaded');
    expect(error.metadata['file_annotations']).toEqual([
      {
        type: 'file',
        file: { hash: hashPattern('cloudflare-ai'), name: 'report.pdf', content: [{ type: 'text', text: reportText }] },
      },
    ]);
  });

  it('may be an Office file, a page or a text', async () => {
    const parts = [
      filePart(createDocx('<w:p><w:r><w:t>From Word.</w:t></w:r></w:p>'), 'a.docx'),
      filePart(createXlsx({ One: '<row><c><v>7</v></c></row>' }), 'b.xlsx'),
      filePart(Buffer.from('<!doctype html><p>From a page.</p>'), 'c.html'),
      filePart(Buffer.from('{"from": "text"}'), 'd.json'),
    ];
    const outcome = await ask(how, parts);
    expectText(outcome, 'Hello there.');
    for (const text of ['From Word.', '## One\n\n| 7 |\n| --- |', 'From a page.', '{"from": "text"}']) {
      expect(sent()).toContain(JSON.stringify(`>\n${text}\n</file>`).slice(1, -1));
    }
    expect(annotationsOf(outcome)).toHaveLength(3); // the text of the last one is the file
  });
});

const chat: Case = { wire: 'openai-chat', mode: 'buffered' };

describe('a model that reads files', () => {
  it.each(cases)('gets the file unchanged, $wire, $mode', async (how) => {
    const outcome = await ask(how, [filePart(report)], { model: 'reading' });
    expectText(outcome, 'Hello there.');
    expect(sent()).toContain(dataUrl(report));
    expect(annotationsOf(outcome)).toEqual([]);
    expect(stagesOf(outcome)).toEqual([]);
  });

  it('gets the text if the request names an engine for it', async () => {
    for (const engine of ['cloudflare-ai', 'pdf-text']) {
      const outcome = await ask(chat, [filePart(report)], { model: 'reading', engine });
      expectText(outcome, 'Hello there.');
      expect(sent()).toContain(framed(reportText));
      expect(stagesOf(outcome)).toMatchObject([{ data: { engine: 'cloudflare-ai' } }]);
    }
  });

  it('gets an Office file as text', async () => {
    const docx = createDocx('<w:p><w:r><w:t>From Word.</w:t></w:r></w:p>');
    expectText(await ask(chat, [filePart(docx, 'a.docx')], { model: 'reading' }), 'Hello there.');
    expect(sent()).toContain(framed('From Word.', 'a.docx'));
    served = docx;
    const linked = { type: 'input_file', file_url: `${filesUrl}/b.docx` };
    expectText(await ask(chat, [linked], { model: 'reading' }), 'Hello there.');
    expect(sent()).toContain(framed('From Word.', 'b.docx'));
    await ask(chat, [filePart(docx, 'a.docx')], { model: 'reading', engine: 'native' });
    expect(sent()).toContain(docx.toString('base64'));
  });
});

describe('a model whose abilities are unknown', () => {
  it('gets the file unless the request names the plugin', async () => {
    await ask(chat, [filePart(report)], { model: 'unknown' });
    expect(sent()).toContain(dataUrl(report));
    await ask(chat, [filePart(report)], { model: 'unknown', more: { plugins: [{ id: 'file-parser' }] } });
    expect(sent()).toContain(framed(reportText));
  });
});

describe('with other plugins and settings', () => {
  it('text is shortened if it is too long for the model', async () => {
    const at = await testGateway({
      providers: [
        provider('openai-chat', 'short', upstream, {
          models: [
            {
              model: 'openai-chat/short',
              upstream_model: 'm',
              context_length: 4000,
              capabilities: { input: ['text'] },
            },
          ],
        }),
      ],
    });
    try {
      const long = filePart(Buffer.from('A long text of many words. '.repeat(4000)), 'long.txt');
      const more = { plugins: [{ id: 'context-compression' }], max_output_tokens: 100 };
      const outcome = await ask(chat, [long], { at, model: 'short', more });
      expectText(outcome, 'Hello there.');
      expect(sent()).toMatch(/characters were removed here/);
      expect(sent().length).toBeLessThan(30_000);
      expect(outcome.response!.router_metadata).toMatchObject({
        pipeline: [{ name: 'file-parser' }, { name: 'context-compression' }],
      });
    } finally {
      await at.close();
    }
  });

  it('a default of the workspace names the engine', async () => {
    const api = manage(() => gateway);
    const change = (default_plugins: object[]) => api('PATCH', '/workspaces/main', { default_plugins });
    expect((await change([{ id: 'file-parser', pdf: { engine: 'cloudflare-ai' } }])).status).toBe(200);
    try {
      expectText(await ask(chat, [filePart(report)], { model: 'reading' }), 'Hello there.');
      expect(sent()).toContain(framed(reportText));
      expectText(await ask(chat, [filePart(report)], { model: 'reading', engine: 'native' }), 'Hello there.');
      expect(sent()).toContain(dataUrl(report));
    } finally {
      await change([]);
    }
  });
});

describe('a router', () => {
  const free = { prompt: '0', completion: '0' };
  const openFree = (names: [name: string, input: string[]][]) =>
    testGateway({
      catalog: { builtin: false },
      providers: names.map(([name, input]) =>
        provider('openai-chat', name, upstream, {
          models: [{ model: `acme/${name}`, upstream_model: name, pricing: free, capabilities: { input } }],
        }),
      ),
    });

  it('chooses a model that reads files, if there is one', async () => {
    for (const [names, chosen] of [
      [['text', 'read', 'other'], 'read'],
      [['text'], 'text'],
    ] as const) {
      const at = await openFree(names.map((name) => [name, name === 'read' ? ['text', 'file'] : ['text']]));
      try {
        for (let count = 0; count < 5; count++) {
          const body = { model: 'router/free', input: [user(question, filePart(report))] };
          const outcome = await askAt(at, 'buffered', body);
          expectText(outcome, 'Hello there.');
          expect(upstream.requests.at(-1)!.body).toMatchObject({ model: chosen });
        }
      } finally {
        await at.close();
      }
    }
  });
});

describe('the engine', () => {
  it('native excludes models that cannot read files', async () => {
    const outcome = await ask(chat, [filePart(report)], { engine: 'native' });
    expectFailure(outcome, 404, 'not_found', /does not support file input/);
    const mixed = await ask(chat, [filePart(report)], { engine: 'native', models: ['reading'] });
    expectText(mixed, 'Hello there.');
    expect(sent()).toContain(dataUrl(report));
  });

  it('mistral-ocr is a 400 without an OCR service', async () => {
    const outcome = await ask(chat, [filePart(report)], { engine: 'mistral-ocr' });
    const { error } = expectFailure(
      outcome,
      400,
      'invalid_request',
      /^plugins\[0\]\.pdf\.engine: .*plugins\.file_parser\.ocr/,
    );
    expect(error.metadata).toMatchObject({ param: 'plugins[0].pdf.engine' });
  });

  it('must be a known one', async () => {
    const outcome = await ask(chat, [filePart(report)], { engine: 'magic' });
    expectFailure(outcome, 400, 'invalid_request', /plugins\[0\]\.pdf\.engine/);
  });

  it('is off with enabled: false', async () => {
    const outcome = await ask(chat, [filePart(report)], { more: { plugins: [{ id: 'file-parser', enabled: false }] } });
    expectFailure(outcome, 404, 'not_found', /does not support file input/);
  });
});

describe('a file', () => {
  it('may be the output of a tool', async () => {
    const input = [
      user(question),
      { type: 'function_call', call_id: 'c1', name: 'load', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: [filePart(report)] },
    ];
    expectText(await ask(chat, [], { input }), 'Hello there.');
    expect(sent()).toContain(framed(reportText));
  });

  it('may be bare base64, or a data URL that is not base64', async () => {
    const bare = { type: 'input_file', file_data: report.toString('base64') };
    expectText(await ask(chat, [bare]), 'Hello there.');
    expect(sent()).toContain(JSON.stringify(`<file>\n${reportText}`).slice(1, -1));
    const percent = { type: 'input_file', filename: 'a "b".txt', file_data: 'data:text/plain,50%25%20%C3%BC' };
    expectText(await ask(chat, [percent]), 'Hello there.');
    expect(sent()).toContain(framed('50% ü', 'a &quot;b&quot;.txt'));
  });

  it('keeps its cache mark', async () => {
    const marked = { ...filePart(report), cache_control: { type: 'ephemeral' } };
    const outcome = await ask({ wire: 'openai-responses', mode: 'buffered' }, [marked]);
    expectText(outcome, 'Hello there.');
    expect(upstream.requests.at(-1)!.body).toMatchObject({
      input: [{ content: [{}, { type: 'input_text', prompt_cache_breakpoint: { mode: 'explicit' } }] }],
    });
  });

  it('may be a URL, in either field', async () => {
    served = report;
    for (const part of [{ file_url: `${filesUrl}/dir/report.pdf?x=1` }, { file_data: `${filesUrl}/report.pdf` }]) {
      const outcome = await ask(chat, [{ type: 'input_file', ...part }], { models: ['other'] });
      expectText(outcome, 'Hello there.');
      expect(sent()).toContain(framed(reportText));
    }
    expect(servedCount).toBe(2);
  });

  it('is fetched once for several attempts', async () => {
    served = report;
    upstream.respond(json(complaint('busy'), { status: 503 }));
    expectText(
      await ask(chat, [{ type: 'input_file', file_url: `${filesUrl}/a` }], { models: ['other'] }),
      'Hello there.',
    );
    expect(servedCount).toBe(1);
  });

  it('by its id needs a model that reads files', async () => {
    const part = { type: 'input_file', file_id: 'file-1' };
    expectFailure(await ask(chat, [part]), 404, 'not_found', /does not support file input/);
    expectText(await ask(chat, [part], { model: 'reading' }), 'Hello there.');
    expect(sent()).toContain('"file_id":"file-1"');
  });

  it('that cannot be fetched is a 400, or goes to a model that fetches it itself', async () => {
    const blocked = { type: 'input_file', file_url: 'http://169.254.169.254/report.pdf' };
    const outcome = await ask(chat, [blocked]);
    const { error } = expectFailure(
      outcome,
      400,
      'invalid_request',
      /^input\[0\]\.content\[1\]: The gateway does not fetch from that host/,
    );
    expect(error.metadata).toMatchObject({ param: 'input[0].content[1]' });
    expectText(await ask(chat, [blocked], { models: ['reading'] }), 'Hello there.');
    expect(sent()).toContain('http://169.254.169.254/report.pdf');
  });

  it('is not fetched if the operator turns fetching off', async () => {
    const closed = await open({}, { outbound: { fetch: false } });
    try {
      const outcome = await ask(chat, [{ type: 'input_file', file_url: `${filesUrl}/a` }], { at: closed });
      expectFailure(outcome, 400, 'invalid_request', /^input\[0\]\.content\[1\]: .*\(outbound\.fetch\)/);
      expect(servedCount).toBe(0);
    } finally {
      await closed.close();
    }
  });

  it('is in the content log as its size and hash, and so is its text', async () => {
    const api = manage(() => gateway);
    const keep = (is_observability_io_logging_enabled: boolean) =>
      api('PATCH', '/workspaces/main', {
        is_observability_io_logging_enabled,
        io_logging_sampling_rate: 1,
        io_logging_api_key_ids: null,
      });
    expect((await keep(true)).status).toBe(200);
    const { headers } = await ask(chat, [filePart(report)]);
    const { body } = await api('GET', `/generation/content?id=${headers.get('x-generation-id')}`);
    expect(body.data.input.items[0].content[1]).toEqual({
      type: 'input_file',
      media_type: 'application/pdf',
      bytes: report.length,
      sha256: createHash('sha256').update(report).digest('hex'),
    });
    expect(JSON.stringify(body)).not.toContain('Revenue');
    expect((await keep(false)).status).toBe(200);
  });
});

describe('while other files are read', () => {
  /** A small file that takes many seconds to read: 400 pages of 200,000 operators that change nothing. */
  const slow = createPdf(Array(400).fill({ data: deflateSync('q Q '.repeat(100_000)), filter: '/FlateDecode' }));

  it('few files wait, and a client that disconnects ends its thread', async () => {
    const at = await open({ max_pages: 20_000, parallel: 1, queue: 1, timeout_ms: 600_000 });
    const client = new AbortController();
    try {
      const body = { model: 'openai-chat/text', input: [user(question, filePart(slow))] };
      const sendSlow = async (): Promise<number | string> => {
        const { status } = await at.post('/responses', body, { signal: client.signal });
        return status === 503 ? sendSlow() : status; // two small files were faster
      };
      const end = sendSlow().catch(() => 'disconnected');
      const small: Promise<Outcome>[] = [];
      let first: Outcome;
      const askTwice = async (): Promise<number> => {
        const pair = [1, 2].map(() => ask(chat, [filePart(report)], { at }));
        small.push(...pair);
        first = await Promise.race(pair);
        return first.status;
      };
      await expect.poll(askTwice).toBe(503); // the slow file is read, and one small file waits
      expect(first!.headers.get('retry-after')).toBe('1');
      expectFailure(first!, 503, 'provider_overloaded', /plugins\.file_parser\.queue/);
      client.abort();
      expect(await end).toBe('disconnected');
      const waited = (await Promise.all(small)).filter(({ status }) => status !== 503);
      expectText(waited.at(-1)!, 'Hello there.');
    } finally {
      client.abort();
      await at.close();
    }
  });

  it('those of one workspace leave a reader and the queue to another one', async () => {
    const limits = { max_pages: 20_000, parallel: 2, queue: 2 };
    const at = await open({ ...limits, timeout_ms: 600_000, request_timeout_ms: 600_000 });
    const client = new AbortController();
    try {
      const { key } = (await manage(() => at)('POST', '/keys', { name: 'k', workspace_id: other })).body;
      const parts = Array.from({ length: 2 }, (_, index) => filePart(Buffer.concat([slow, Buffer.from(`${index}`)])));
      const body = { model: 'openai-chat/text', input: [user(question, ...parts)] };
      const greedy = [1, 2, 3, 4].map(() =>
        at.post('/responses', body, { signal: client.signal }).then(
          ({ status }) => status,
          () => 'disconnected',
        ),
      );
      expect(await Promise.race(greedy)).toBe(503); // one reads, two wait
      for (let round = 0; round < 3; round++) {
        expectText(
          await ask(chat, [filePart(createDocx(`<w:p><w:r><w:t>${round}</w:t></w:r></w:p>`))], { at, key }),
          'Hello there.',
        );
      }
      client.abort();
      expect((await Promise.all(greedy)).toSorted()).toEqual([503, 'disconnected', 'disconnected', 'disconnected']);
    } finally {
      client.abort();
      await at.close();
    }
  });

  it('those of two workspaces make way for those of a third one', async () => {
    const at = await open({
      max_pages: 20_000,
      parallel: 3,
      queue: 3,
      timeout_ms: 600_000,
      request_timeout_ms: 600_000,
    });
    const client = new AbortController();
    try {
      const api = manage(() => at);
      const createKey = async (workspace_id: string): Promise<string> =>
        (await api('POST', '/keys', { name: 'k', workspace_id })).body.key;
      const { id } = (await api('POST', '/workspaces', { name: 'Third', slug: 'third' })).body.data;
      const [second, third] = [await createKey(other), await createKey(id)];
      const outcomes: (number | string)[] = [];
      const send = async (index: number, key?: string): Promise<void> => {
        const file = filePart(Buffer.concat([slow, Buffer.from(`${index}`)]));
        const body = { model: 'openai-chat/text', input: [user(question, file)] };
        const response = await at.post('/responses', body, { signal: client.signal, ...(key && { key }) }).then(
          ({ status }) => status,
          () => 'disconnected',
        );
        outcomes.push(response);
      };
      const greedy = [send(1), send(2), send(3), send(4), send(5, second), send(6, second), send(7, second)];
      await expect.poll(() => outcomes).toContain(503); // three are read, three wait
      for (const text of ['one', 'two']) {
        const file = filePart(createDocx(`<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`));
        expectText(await ask(chat, [file], { at, key: third }), 'Hello there.');
      }
      expect(outcomes.filter((outcome) => outcome !== 503)).toEqual([]);
      client.abort();
      await Promise.all(greedy);
      expect(outcomes.filter((outcome) => outcome === 'disconnected').length).toBeGreaterThan(3);
    } finally {
      client.abort();
      await at.close();
    }
  });

  it('those of a request are not read after one has failed', async () => {
    const at = await open({
      max_pages: 20_000,
      parallel: 1,
      queue: 1,
      timeout_ms: 600_000,
      request_timeout_ms: 600_000,
    });
    const others = [1, 2, 3].map((index) => filePart(Buffer.concat([slow, Buffer.from(`${index}`)])));
    const outcome = await ask(chat, [filePart(report.subarray(0, 200)), ...others], { at });
    expectFailure(outcome, 400, 'invalid_request', /It is damaged/);
    expectText(await ask(chat, [filePart(report)], { at }), 'Hello there.');
    await at.close();
  });

  it('those of a request have a time limit together', async () => {
    const at = await open({ request_timeout_ms: 1 });
    const outcome = await ask(chat, [filePart(report)], { at });
    const message =
      /The files of the request took longer than 1 ms to read \(plugins\.file_parser\.request_timeout_ms\)/;
    expectFailure(outcome, 400, 'invalid_request', message);
    await at.close();
  });
});

describe('spending limits', () => {
  /** Creates a key that may spend this many USD. */
  const createKey = async (at: TestGateway, limit: number) =>
    (await manage(() => at)('POST', '/keys', { name: 'k', workspace_id: main, limit })).body.key as string;

  it('count the text of a file before it is sent', async () => {
    const key = await createKey(gateway, 0.02);
    const small = { more: { max_output_tokens: 100 }, key };
    expectText(await ask(chat, [filePart(report)], small), 'Hello there.');
    const asked = upstream.requests.length;
    const long = filePart(Buffer.from('A long text of many words. '.repeat(8000)), 'long.txt');
    expectFailure(await ask(chat, [long], small), 402, 'payment_required', /more tokens of input/);
    expect(upstream.requests.length).toBe(asked);
  });

  it('count pages before an OCR service reads them', async () => {
    service.always(() => json({ pages: [{ markdown: 'x' }, { markdown: 'y' }] }));
    const key = await createKey(withOcr, 0.7);
    const asked = service.requests.length;
    const outcome = await ask(chat, [filePart(report)], { at: withOcr, key });
    expectFailure(outcome, 402, 'payment_required');
    expect(service.requests.length).toBe(asked);
    expectText(await ask(chat, [filePart(createPdf([['x']]))], { at: withOcr, key }), 'Hello there.');
  });
});

describe.each(cases)('content filters, $wire, $mode', (how) => {
  it.each(['block', 'redact'] as const)('%s text of files', async (action) => {
    const api = manage(() => gateway);
    const { body } = await api('POST', '/keys', { name: 'k', workspace_id: main });
    const rules = {
      name: 'G',
      workspace_id: main,
      content_filters: [{ pattern: 'Revenue', action, label: '[SECRET]' }],
    };
    const { id } = (await api('POST', '/guardrails', rules)).body.data;
    await api('POST', `/guardrails/${id}/assignments/keys`, { key_hashes: [body.data.hash] });
    const asked = upstream.requests.length;
    const outcome = await ask(how, [filePart(report)], { key: body.key });
    if (action === 'block') {
      const { error } = expectFailure(outcome, 403, 'permission_denied');
      expect(error.metadata).not.toHaveProperty('file_annotations');
      expect(upstream.requests.length).toBe(asked);
    } else {
      expectText(outcome, 'Hello there.');
      expect(sent()).not.toContain('Revenue');
      expect(sent()).toContain('Costs fell.');
    }
  });
});

describe('a 400 names the file:', () => {
  const bomb = deflateSync(Buffer.from('BT /F1 12 Tf (hello) Tj ET\n'.repeat(3_000_000)));
  it.each<[string, Buffer, RegExp]>([
    ['damaged', report.subarray(0, 200), /It is damaged/],
    [
      'too many pages',
      createPdf(Array.from({ length: 100 }, () => ['x'])),
      /It has 100 pages; at most 20 are read \(plugins\.file_parser\.max_pages\)/,
    ],
    ['an archive', createZip({ 'a.txt': 'x' }), /It is a ZIP archive/],
    ['a page of 40,000 open lists', Buffer.from(`<html>${'<ul>'.repeat(40_000)}`), /nested more than 5000 deep/],
    [
      'a document of 100,000 open paragraphs',
      createDocx('', { 'word/document.xml': Buffer.from(`<w:document>${'<w:p>'.repeat(100_000)}`) }),
      /nested more than 5000 deep/,
    ],
    [
      'an archive that unpacks to 20 MB',
      createDocx('', {
        'word/document.xml': Buffer.concat([Buffer.from('<w:document>'), Buffer.alloc(20 * 1024 * 1024, ' ')]),
      }),
      /plugins\.file_parser\.max_unpacked_bytes/,
    ],
    ['a program', Buffer.from('\x7fELF\x01\0\0', 'latin1'), /It is a program/],
    [
      'a page of 3 million operators',
      createPdf([{ data: bomb, filter: '/FlateDecode' }]),
      /plugins\.file_parser\.(memory|timeout_ms)/,
    ],
    [
      'too large',
      Buffer.alloc(300_000, 'x'),
      /It has 300000 bytes; at most 262144 are read \(plugins\.file_parser\.max_bytes\)/,
    ],
  ])('%s', async (_what, bytes, message) => {
    strict ??= await open({ max_unpacked_bytes: '16MiB', memory: '64MiB', max_bytes: '256KiB', timeout_ms: 10_000 });
    const large = bytes.length > 262_144 && !/max_bytes/.test(message.source);
    const outcome = await ask(chat, [filePart(bytes, 'odd "name".pdf')], { at: large ? gateway : strict });
    const { error } = expectFailure(
      outcome,
      400,
      'invalid_request',
      /^input\[0\]\.content\[1\]: The file "odd \\"name\\".pdf" cannot be read\. /,
    );
    expect(error.message).toMatch(message);
    expectText(await ask(chat, [filePart(report)], { at: strict }), 'Hello there.'); // the gateway lives
  });
  let strict: TestGateway | undefined;
  afterAll(() => strict?.close());

  it('data that is not base64', async () => {
    const part = { type: 'input_file', filename: 'a.txt', file_data: 'Plain text, sent as it is.' };
    const message = /^input\[0\]\.content\[1\]: The file "a\.txt" cannot be read\. Its data is neither base64/;
    expectFailure(await ask(chat, [part]), 400, 'invalid_request', message);
    const encoded = { ...part, file_data: `${Buffer.from('Some text.').toString('base64')}\r\n` };
    expectText(await ask(chat, [encoded]), 'Hello there.');
  });

  it('too many files', async () => {
    const parts = Array.from({ length: 5 }, (_, at) => filePart(Buffer.from(`text ${at}`)));
    expectFailure(
      await ask(chat, parts),
      400,
      'invalid_request',
      /^input\[0\]\.content\[5\]: The request has 5 files; at most 4/,
    );
  });

  it('too much text in all, also of a file that occurs more than once', async () => {
    const at = await open({ max_characters: 1000 });
    try {
      const text = filePart(Buffer.from('x'.repeat(400)), 'a.txt');
      expectText(await ask(chat, [text, text], { at, models: ['other'] }), 'Hello there.');
      const message = /^input\[0\]\.content\[\d\]: The files of the request have more than 1000 characters of text/;
      expectFailure(await ask(chat, [text, text, text], { at }), 400, 'invalid_request', message);
    } finally {
      await at.close();
    }
  });

  it('but another model may read it', async () => {
    const broken = report.subarray(0, 200);
    expectText(await ask(chat, [filePart(broken)], { models: ['reading'] }), 'Hello there.');
    expect(sent()).toContain(broken.toString('base64'));
  });
});

describe('an OCR service', () => {
  const scan = createPdf([{ data: deflateSync(Buffer.from('0 0 9 9 re f')), filter: '/FlateDecode' }, ['x']]);
  const png = 'iVBORw0KGgoAAAANSUhEUg==';
  const pages = (count: number, images = 0) => ({
    pages: Array.from({ length: count }, (_, index) => ({
      index,
      markdown: `# Page ${index + 1}`,
      images: Array.from({ length: images }, (__, at) => ({
        id: `img-${at}.png`,
        image_base64: `data:image/jpeg;base64,${png}`,
      })),
    })),
    usage_info: { pages_processed: count },
  });
  const text = '# Page 1\n\n# Page 2';

  it.each(cases)('reads PDFs by default, for its price, $wire, $mode', async (how) => {
    service.always(() => json(pages(2)));
    const outcome = await ask(how, [filePart(scan)], { at: withOcr });
    const { usage } = expectText(outcome, 'Hello there.');
    expect(service.requests.at(-1)).toMatchObject({
      path: '/v1/ocr',
      headers: { authorization: 'Bearer key-of-the-ocr-service' },
      body: {
        model: 'ocr-1',
        document: { type: 'document_url', document_url: dataUrl(scan) },
        include_image_base64: true,
      },
    });
    expect(sent()).toContain(framed(text));
    expect(annotationsOf(outcome)).toMatchObject([{ file: { hash: hashPattern('mistral-ocr'), content: [{ text }] } }]);
    expect(stagesOf(outcome)).toMatchObject([{ data: { engine: 'mistral-ocr', files: 1, pages: 2 }, cost_usd: 1 }]);
    expect(usage).toMatchObject({ cost: 1.00004 }); // 20 and 10 tokens besides
  });

  it('reads each PDF once', async () => {
    service.always(() => json(pages(1)));
    const before = service.requests.length;
    upstream.respond(json(complaint('busy'), { status: 503 }));
    const input = [user(question, filePart(scan), filePart(scan, 'b.pdf'))];
    expectText(await ask(chat, [], { at: withOcr, models: ['other'], input }), 'Hello there.');
    expect(service.requests.length - before).toBe(1);
  });

  it('is not asked if its annotation is sent back, if a model reads files, or for other formats', async () => {
    service.always(() => json(pages(2)));
    const first = await ask(chat, [filePart(scan)], { at: withOcr });
    const before = service.requests.length;
    const input = [user(question, filePart(scan)), ...first.response!.output, user(question)];
    const second = await ask(chat, [], { at: withOcr, input, engine: 'mistral-ocr' });
    expectText(second, 'Hello there.');
    expect(sent()).toContain(framed(text));
    expect(stagesOf(second)).toMatchObject([{ data: { engine: 'mistral-ocr', reused: 1 } }]);
    expect(second.response!.usage).toMatchObject({ cost: 0.00004 });
    expectText(await ask(chat, [filePart(scan)], { at: withOcr, model: 'reading' }), 'Hello there.');
    expectText(await ask(chat, [filePart(Buffer.from('a text'))], { at: withOcr }), 'Hello there.');
    expectText(await ask(chat, [filePart(report)], { at: withOcr, engine: 'cloudflare-ai' }), 'Hello there.');
    expect(service.requests.length).toBe(before);
  });

  it('passes on at most 8 images of a request, to models that see', async () => {
    service.always(() => json(pages(2, 6)));
    const images = () => sent().split(`data:image/png;base64,${png}`).length - 1; // the type is that of the bytes
    const outcome = await ask(chat, [filePart(scan), filePart(report)], { at: withOcr, model: 'seeing' });
    expectText(outcome, 'Hello there.');
    expect(images()).toBe(8);
    expect(annotationsOf(outcome)).toMatchObject([
      { file: { content: { length: 9 } } },
      { file: { content: { length: 9 } } },
    ]);
    expectText(await ask(chat, [filePart(scan)], { at: withOcr }), 'Hello there.');
    expect(images()).toBe(0);
  });

  it('that fails is replaced by the local engine, unless the request names it', async () => {
    for (const failing of [json({}, { status: 500 }), json({ pages: 'none' }), json([])]) {
      service.always(failing);
      const outcome = await ask(chat, [filePart(report)], { at: withOcr });
      expectText(outcome, 'Hello there.');
      expect(sent()).toContain(framed(reportText));
      expect(stagesOf(outcome)).toMatchObject([{ data: { engine: 'cloudflare-ai', failed_engine: 'mistral-ocr' } }]);
      expect(outcome.response!.usage).toMatchObject({ cost: 0.00004 });
      const named = await ask(chat, [filePart(report)], { at: withOcr, engine: 'mistral-ocr' });
      expectFailure(named, 503, 'provider_overloaded', /^The OCR service responded/);
    }
    const rescued = await ask(chat, [filePart(report)], { at: withOcr, models: ['reading'] });
    expectText(rescued, 'Hello there.');
  });

  it('does not get a file that is damaged or too long', async () => {
    const before = service.requests.length;
    const long = createPdf(Array.from({ length: 21 }, () => ['x']));
    for (const bytes of [long, report.subarray(0, 200)]) {
      expectFailure(
        await ask(chat, [filePart(bytes)], { at: withOcr }),
        400,
        'invalid_request',
        /"report\.pdf" cannot be read/,
      );
    }
    expect(service.requests.length).toBe(before);
  });

  it('is charged even if every provider fails', async () => {
    service.always(() => json(pages(2)));
    upstream.always(json(complaint('busy'), { status: 503 }));
    const outcome = await ask(chat, [filePart(scan)], { at: withOcr });
    const { error } = expectFailure(outcome, 529, 'provider_overloaded');
    expect(error.metadata).toMatchObject({ file_annotations: [{ file: { content: [{ text }] } }] });
    const { data } = (await (await withOcr.get(`/generation?id=${outcome.headers.get('x-generation-id')}`)).json()) as {
      data: { total_cost: number };
    };
    expect(data.total_cost).toBe(1);
  });
});
