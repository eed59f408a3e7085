import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { testGateway } from '../../src/testing/test-gateway.ts';
import { examplesConfig, readExamples, runExamples } from '../docs/run-examples.ts';
import { startBackEnds } from './back-end.ts';
import { findFrameworks, frameworks, readSpecifier } from './packages.ts';

process.env['MASTRA_TELEMETRY_DISABLED'] = '1';
const found = findFrameworks();
const folder = 'folder' in found ? found.folder : undefined;
const load = folder === undefined ? undefined : importFrom(folder);
const backEnds = load && (await startBackEnds());
afterAll(() => backEnds?.close());

it.runIf('skipped' in found)('the frameworks are not here', ({ skip }) => {
  const { skipped = '' } = found as { skipped?: string };
  process.stderr.write(`tests/clients/frameworks.full.test.ts is skipped: ${skipped}\n`);
  skip(skipped);
});

it.skipIf(!load).each([
  ['clients', 2],
  ['frameworks', 8],
])('the examples of docs/guides/%s.md run, and print something', async (page, count) => {
  const gateway = await testGateway(examplesConfig);
  try {
    const runs = await runExamples(`docs/guides/${page}.md`, 'js', gateway, join(folder!, 'node_modules'));
    expect(runs).toHaveLength(count);
    expect(runs.filter(({ error, output }) => error !== undefined || output.trim() === '')).toEqual([]);
  } finally {
    await gateway.close();
  }
});

it.skipIf(!load)('the client and the function of BAML in the guide compile and run', async () => {
  const gateway = await testGateway(examplesConfig);
  const home = mkdtempSync(join(tmpdir(), 'headgate-baml-'));
  try {
    const [example] = readExamples('docs/guides/frameworks.md', 'baml', gateway);
    const { version } = readSpecifier(frameworks.find((specifier) => specifier.startsWith('@boundaryml/baml@'))!);
    const target = `output_type "typescript"\n output_dir "../"\n version "${version}"\n module_format "esm"`;
    mkdirSync(join(home, 'baml_src'));
    writeFileSync(join(home, 'baml_src/main.baml'), `${example!.code}\ngenerator target {\n ${target}\n}\n`);
    writeFileSync(join(home, 'package.json'), '{"type":"module"}');
    writeFileSync(
      join(home, 'run.ts'),
      `import { b } from './baml_client/index.ts';\nconsole.log(await b.Greet('Ada'));\n`,
    );
    symlinkSync(join(folder!, 'node_modules'), join(home, 'node_modules'));
    const env = { PATH: process.env['PATH'], HOME: home, HEADGATE_KEY: gateway.key, BAML_LOG: 'off' };
    const execute = async (parameters: string[]) =>
      (await promisify(execFile)(process.execPath, parameters, { cwd: home, env })).stdout;
    await execute(['node_modules/.bin/baml-cli', 'generate']);
    const build = await rolldown({ input: join(home, 'run.ts'), platform: 'node', external: /^@boundaryml/ });
    await build.write({ file: join(home, 'run.js') });
    await build.close();
    expect(await execute(['run.js'])).toBe('Greet Ada.\n');
  } finally {
    rmSync(home, { recursive: true, force: true });
    await gateway.close();
  }
});

/** Imports modules of a folder with packages. */
function importFrom(path: string): (specifier: string) => Promise<unknown> {
  const { resolve } = createRequire(join(path, 'package.json'));
  return (specifier) => import(pathToFileURL(resolve(specifier)).href);
}

// The parts of the frameworks that the tests use: their types are not installed.
interface ToolCall {
  id: string;
  name: string;
  input: unknown;
}
interface ChatMessage {
  role: string;
  content: unknown;
  options?: { toolCall?: ToolCall[]; toolResult?: { id: string; result: string; isError: boolean } };
}
interface LlamaModel {
  chat(request: { messages: ChatMessage[]; tools?: unknown[] }): Promise<{ message: ChatMessage; raw: unknown }>;
  chat(request: {
    messages: ChatMessage[];
    tools?: unknown[];
    stream: true;
  }): Promise<AsyncIterable<{ delta: string; options?: ChatMessage['options'] }>>;
}
interface LlamaIndex {
  OpenAI: new (settings: object) => LlamaModel;
  OpenAIResponses: new (settings: object) => LlamaModel;
}
interface MastraAgent {
  generate(input: unknown, options?: object): Promise<{ text: string; toolResults: unknown[]; usage: object }>;
  stream(input: unknown, options?: object): Promise<{ textStream: AsyncIterable<string>; error?: Error }>;
}
interface Mastra {
  Agent: new (settings: object) => MastraAgent;
}
interface MastraTools {
  createTool(settings: object): unknown;
}

const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const picture = `data:image/png;base64,${dot}`;
const bern = { name: 'get_weather', input: { city: 'Bern' } };
const olten = { name: 'get_weather', input: { city: 'Olten' } };
const sunny = ({ city }: { city: string }) => `${city} is sunny.`;
const usage = { input: 1000, cached: 400, output: 50, reasoning: 20 };

describe.skipIf(!load).each(backEnds?.all ?? [])('LlamaIndex with $kind', (backEnd) => {
  const { gateway, model } = backEnd;

  async function open(): Promise<{ chat: LlamaModel; responses: LlamaModel; weather: unknown }> {
    const { OpenAI, OpenAIResponses } = (await load!('@llamaindex/openai')) as LlamaIndex;
    const { tool } = (await load!('@llamaindex/core/tools')) as { tool(settings: object): unknown };
    const settings = { model, apiKey: gateway.key, baseURL: gateway.baseUrl, maxRetries: 0 };
    const shape = { name: 'get_weather', description: 'The weather.', parameters: z.object({ city: z.string() }) };
    return {
      chat: new OpenAI(settings),
      responses: new OpenAIResponses({ ...settings, store: false }),
      weather: tool({ ...shape, execute: sunny }),
    };
  }

  it('calls tools, buffered', async () => {
    const { chat, weather } = await open();
    const prompt = backEnd.script('Weather?', { calls: [bern, olten] }, { text: 'Both are sunny.', usage });
    const messages: ChatMessage[] = [{ role: 'user', content: prompt }];

    const { message } = await chat.chat({ messages, tools: [weather] });
    const calls = message.options?.toolCall ?? [];
    expect(calls.map(({ input }) => JSON.parse(String(input)))).toEqual([bern.input, olten.input]);
    messages.push(message);
    for (const { id } of calls) {
      const toolResult = { id, result: 'Sunny.', isError: false };
      messages.push({ role: 'user', content: 'Sunny.', options: { toolResult } });
    }
    const second = await chat.chat({ messages, tools: [weather] });

    expect(second.message.content).toBe('Both are sunny.');
    expect(second.raw).toMatchObject({ usage: { prompt_tokens: 1000, completion_tokens: 50 } });
  });

  it('streams a call and a text', async () => {
    const { chat, weather } = await open();
    const prompt = backEnd.script('Weather?', { calls: [bern] }, { text: 'One two three.' });
    const messages: ChatMessage[] = [{ role: 'user', content: prompt }];

    let call: ToolCall | undefined;
    for await (const { options } of await chat.chat({ messages, tools: [weather], stream: true })) {
      call = options?.toolCall?.[0] ?? call;
    }
    expect(call).toMatchObject(bern);
    const toolResult = { id: call!.id, result: 'Sunny.', isError: false };
    messages.push(
      { role: 'assistant', content: '', options: { toolCall: [call!] } },
      { role: 'user', content: 'Sunny.', options: { toolResult } },
    );
    const pieces: string[] = [];
    for await (const { delta } of await chat.chat({ messages, tools: [weather], stream: true })) pieces.push(delta);

    expect(pieces.join('')).toBe('One two three.');
    expect(pieces.filter(Boolean).length).toBeGreaterThan(1);
  });

  it('sends an image', async () => {
    const { chat } = await open();
    const text = backEnd.script('What is this?', { text: 'A dot.' });
    backEnd.takeUpstreamBodies();
    const content = [
      { type: 'text', text },
      { type: 'image_url', image_url: { url: picture } },
    ];
    expect((await chat.chat({ messages: [{ role: 'user', content }] })).message.content).toBe('A dot.');
    for (const body of backEnd.takeUpstreamBodies()) expect(JSON.stringify(body)).toContain(dot);
  });

  it('speaks the Responses format, buffered', async () => {
    const { responses } = await open();
    const messages = [{ role: 'user', content: backEnd.script('Hello', { text: 'Hello you.' }) }];
    expect((await responses.chat({ messages })).message.content).toBe('Hello you.');
  });

  it('throws the error of the provider', async () => {
    const { chat } = await open();
    const content = backEnd.script('Hello', { fail: { status: 429, message: 'Too fast.' } });
    await expect(chat.chat({ messages: [{ role: 'user', content }] })).rejects.toMatchObject({ status: 429 });
  });
});

describe.skipIf(!load).each(backEnds?.all ?? [])('an agent of Mastra with $kind', (backEnd) => {
  const { gateway, model } = backEnd;

  async function open(api: 'chat' | 'responses' = 'chat'): Promise<MastraAgent> {
    const { Agent } = (await load!('@mastra/core/agent')) as Mastra;
    const { createTool } = (await load!('@mastra/core/tools')) as MastraTools;
    const weather = createTool({
      id: 'get_weather',
      description: 'The weather of a city.',
      inputSchema: z.object({ city: z.string() }),
      execute: sunny,
    });
    return new Agent({
      id: 'helper',
      name: 'Helper',
      instructions: 'Be brief.',
      model: { providerId: 'headgate', modelId: model, url: gateway.baseUrl, apiKey: gateway.key, api },
      tools: { get_weather: weather },
      maxRetries: 0,
    });
  }
  const task = [{ calls: [bern, olten] }, { text: 'Both are sunny.', usage }];

  it('calls tools, buffered and streamed', async () => {
    const agent = await open();
    backEnd.takeUpstreamBodies();
    const whole = await agent.generate(backEnd.script('Weather?', ...task));
    expect(whole.text).toBe('Both are sunny.');
    const [, second] = backEnd.takeUpstreamBodies();
    if (second) expect(JSON.stringify(second)).toContain('Olten is sunny.');

    let text = '';
    const { textStream } = await agent.stream(backEnd.script('Weather?', ...task));
    for await (const piece of textStream) text += piece;
    expect(text).toBe('Both are sunny.');
  });

  it('sends an image', async () => {
    const agent = await open();
    const text = backEnd.script('What is this?', { text: 'A dot.' });
    backEnd.takeUpstreamBodies();
    const content = [
      { type: 'text', text },
      { type: 'image', image: picture, mimeType: 'image/png' },
    ];
    expect((await agent.generate([{ role: 'user', content }])).text).toBe('A dot.');
    for (const body of backEnd.takeUpstreamBodies()) expect(JSON.stringify(body)).toContain(dot);
  });

  it('throws the error of the provider', async () => {
    const agent = await open();
    const fail = { status: 400, message: 'The engine is on fire.' };
    await expect(agent.generate(backEnd.script('Hello', { fail }, { fail }))).rejects.toThrow('The engine is on fire.');
  });
});
