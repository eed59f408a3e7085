import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { openRecordings, recordingsOf } from '../api/open-recordings.ts';
import { examplesConfig, readExamples } from '../docs/run-examples.ts';
import { patienceMs } from './agent-seat.ts';
import { isCount, startStrictBackEnds } from './back-end.ts';
import type { Turn } from './turn.ts';

/** Folders with virtual environments of Python, one for each major of the official clients. */
const folder = process.env['HEADGATE_TEST_PYTHON'];
const majors = ['newest', 'older'].map((major) => ({ major, python: join(folder ?? '', major, 'bin', 'python') }));
const isHere = folder !== undefined && majors.every(({ python }) => existsSync(python));

/** Answers that a client cannot know. */
const known: readonly { call: RegExp; models?: RegExp; fault: RegExp }[] = [
  // The provider sent it on the wire of the same format.
  { call: /^messages/, models: /^anthropic-messages\/(?:unknown-blocks|web-search)$/, fault: /./ },
  { call: /^responses/, models: /^openai-responses\/(?:unknown-kinds|web-search)$/, fault: /./ },
  // Only the beta types have the calls of MCP servers, and the format has no generated images.
  { call: /^messages/, models: /\/(?:mcp|images?(?:-\w+)?|unknown-kinds)$/, fault: /mcp_tool_use/ },
  // The recording has invented bytes, which pass unchanged.
  { call: /^gemini/, models: /^gemini\/|\/image-generation$/, fault: /bytes_invalid_encoding/ },
  // The client has no type for a streamed custom call: https://github.com/openai/openai-openapi/issues/576.
  { call: /^chat_streamed$/, fault: /"tool_calls": \[\{"index": 0, "id": "\w+", "type": "custom"/ },
];

const wires = ['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini'];
const models = wires.flatMap((wire) => {
  const files = readdirSync(recordingsOf(wire)).filter((file) => file.endsWith('.http'));
  const names = new Set(files.map((file) => file.replace(/(?:\.whole|\.stream)?\.http$/, '')));
  return [...names].map((name) => `${wire}/${name}`);
});

const call = (city: string) => ({ name: 'get_weather', input: { city } });
/** The turns of a session of google_sessions.py. */
const turns: Turn[] = [
  { text: 'I am a gateway.' },
  { text: 'I am a gateway.' },
  { reasoning: 'I look it up.', encrypted: 'EqQBCgIYAhIMc2lnbmVk', calls: [call('Bern'), call('Olten')] },
  { text: 'Sunny.' },
  { text: 'As I said.' },
  { calls: [call('Thun')] },
  { text: 'Sunny in Thun.' },
  { text: '{"city":"Bern"}' },
  { text: 'A pixel.' },
  { fail: { status: 429, message: 'Too fast.' } },
  { text: 'One two three four five.', after: 'silence' },
  { text: 'I am a gateway.' },
  { text: 'One two three four five.', after: 'silence' },
];

let lab: Awaited<ReturnType<typeof openRecordings>>;
let backEnds: Awaited<ReturnType<typeof startStrictBackEnds>>;
beforeAll(async () => {
  lab = await openRecordings(wires);
  backEnds = await startStrictBackEnds();
});
afterAll(() => Promise.all([lab.close(), backEnds.close()]));

it.skipIf(isHere)('the clients for Python are not here', ({ skip }) => {
  const reason =
    'HEADGATE_TEST_PYTHON names no folder with `newest` and `older`, environments with the requirements of tests/clients/python';
  process.stderr.write(`tests/clients/python.full.test.ts is skipped: ${reason}\n`);
  skip(reason);
});

/** Runs a script with a value on standard input. @returns the lines that it prints */
async function run(python: string, script: string, given: object): Promise<Record<string, unknown>[]> {
  const path = fileURLToPath(new URL(`python/${script}`, import.meta.url));
  const child = spawn(python, [path], { stdio: ['pipe', 'pipe', 'inherit'], timeout: patienceMs });
  child.stdin.end(JSON.stringify(given));
  const [printed] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return printed
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const at = ({ baseUrl, key }: Pick<TestGateway, 'baseUrl' | 'key'>) => ({ base_url: baseUrl, key });

const oneOfEachWire = ['azure-responses', 'anthropic-opus', 'gemini', 'mistral'];

/** The results of google_sessions.py. */
const googleSession = {
  text: 'I am a gateway.',
  streamed: 'I am a gateway.',
  thoughts: expect.stringMatching(/^(?:I look it up\.)?$/),
  calls: ['get_weather {"city": "Bern"}', 'get_weather {"city": "Olten"}'],
  answer: 'Sunny.',
  later: 'As I said.',
  roles: expect.arrayContaining(['user', 'model']),
  automatic: 'Sunny in Thun.',
  structured: 'Bern',
  seen: 'A pixel.',
  busy: { kind: 'ClientError', status: 429, word: 'RESOURCE_EXHAUSTED', message: expect.stringContaining('Too fast.') },
  unknown: {
    kind: 'ClientError',
    status: 400,
    word: 'INVALID_ARGUMENT',
    message: expect.stringContaining('unknown/model'),
  },
  cancelled: true,
  tokens: expect.any(Number),
  models: true,
  async: { streamed: 'I am a gateway.', cancelled: true },
};

describe.skipIf(!isHere).each(majors)('the $major clients for Python', { timeout: 2 * patienceMs }, ({ python }) => {
  it('read every recorded answer of every wire with all its fields, in each API, buffered and streamed', async () => {
    const lines = await run(python, 'read_recordings.py', { ...at(lab.gateway), models });
    expect(lines.pop()).toEqual({ answers: models.length * 8 + 1 });
    const isKnown = (line: Record<string, unknown>) =>
      known.some(
        ({ call, models: of, fault }) =>
          call.test(String(line['call'])) &&
          fault.test(String(line['fault'])) &&
          (of?.test(String(line['model'])) ?? true),
      );
    expect(lines.filter((line) => !isKnown(line))).toEqual([]);
  });

  it('hold sessions of google-genai through every wire', async () => {
    const gateway = await testGateway(examplesConfig);
    onTestFinished(() => gateway.close());
    const all = backEnds.all.filter(({ id }) => oneOfEachWire.includes(id));
    const earlier = all.map(({ upstream }) => upstream!.requests.length);
    for (const backEnd of all) backEnd.script('', ...turns);
    const lines = await run(python, 'google_sessions.py', {
      sessions: all.map(({ gateway: its, model, id }) => ({ ...at(its), model, id })),
      embeddings: { ...at(gateway), model: 'simulator/embedding' },
    });
    expect(lines.pop()).toEqual({ vectors: [256, 8, 8] });
    expect(lines).toEqual(all.map(({ id }) => ({ id, ...googleSession })));
    for (const [index, { upstream, refusals, kind }] of all.entries()) {
      expect(refusals).toEqual([]);
      const requests = upstream!.requests.slice(earlier[index]).filter((request) => !isCount(request));
      const held = [requests[10]!, requests[12]!];
      expect(await Promise.all(held.map(({ closed }) => closed))).toEqual(['aborted', 'aborted']);
      // The reasoning of the first turn goes back with the results of its calls, and in the turn after it.
      if (kind !== 'gemini') continue;
      for (const { body } of requests.slice(3, 5)) expect(JSON.stringify(body)).toContain(turns[2]!.encrypted);
    }
  });

  it('run every example of the page of Python', async () => {
    const gateway = await testGateway(examplesConfig);
    onTestFinished(() => gateway.close());
    const examples = readExamples('docs/guides/python.md', 'python', gateway);
    expect(examples.length).toBeGreaterThan(2);
    for (const { code } of examples) {
      const env = { PATH: process.env['PATH'], HEADGATE_KEY: gateway.key };
      const child = spawn(python, ['-c', code], { env, stdio: ['ignore', 'pipe', 'inherit'], timeout: patienceMs });
      const [printed, [status]] = await Promise.all([text(child.stdout), once(child, 'close')]);
      expect({ status, printed }).toEqual({ status: 0, printed: expect.stringMatching(/\S/) });
    }
  });
});
