import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { openRecordings, recordingsOf } from '../api/open-recordings.ts';
import { examplesConfig, readExamples } from '../docs/run-examples.ts';
import { patienceMs } from './agent-seat.ts';
import { type BackEnd, isCount, startStrictBackEnds } from './back-end.ts';
import type { Turn } from './turn.ts';

/** A language whose official clients check the types of answers. Its program is built twice, with two majors of the clients. */
interface Language {
  name: string;
  /** The variable with the folder that `build.sh` has filled. */
  variable: string;
  build: string;
  command(folder: string): string[];
  /** The name of a program in the guide, and the command that runs it. */
  guide: { file: string; command(folder: string, file: string): string[] };
}

const script = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const languages: Language[] = [
  {
    name: 'Go',
    variable: 'HEADGATE_TEST_GO',
    build: 'tests/clients/go/build.sh',
    command: (folder) => [folder],
    guide: { file: 'guide.go', command: (folder, file) => [script('go/run.sh'), folder, file] },
  },
  {
    name: 'Java',
    variable: 'HEADGATE_TEST_JAVA',
    build: 'tests/clients/java/build.sh',
    command: (folder) => ['java', '-cp', `${join(folder, 'classes')}:${join(folder, 'jars', '*')}`, 'Main'],
    guide: { file: 'Hello.java', command: (folder, file) => ['java', '-cp', join(folder, 'newest/jars/*'), file] },
  },
];

type Line = Record<string, unknown>;

/** Answers that a client cannot know. */
const known: readonly { call: RegExp; model?: RegExp; fault: RegExp }[] = [
  // The provider sent it on the wire of the same format.
  { call: /^messages/, model: /^anthropic-(?:messages\/|opus$)/, fault: /is missing|is not set|unknown type/i },
  { call: /^messages/, model: /^anthropic-messages\/unknown-blocks$/, fault: /Unknown|no known type/ },
  { call: /^responses/, model: /^openai-responses\/(?:unknown-kinds|web-search)$/, fault: /./ },
  // Only the beta types have the calls of MCP servers, and the format has no generated images.
  {
    call: /^messages/,
    model: /\/(?:mcp|images?(?:-\w+)?|unknown-kinds)$/,
    fault: /mcp_tool_use|content(?:\[\d+\]|_block) is of no known type/,
  },
  // A text without citations has no such field, because `null` breaks clients that add citations to it.
  { call: /^messages/, fault: /\bcitations`? is (?:missing|not set)/ },
  // The client compares the name with a value of another type, so its check rejects every call of such a tool.
  { call: /^messages/, fault: /'name' is invalid, received (?:web_search|code_execution)/ },
  // Some clients have no type for a streamed custom call: https://github.com/openai/openai-openapi/issues/576.
  { call: /^chat_streamed$/, model: /\/custom-tool$/, fault: /custom/ },
];

const wires = ['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini'];
const models = wires.flatMap((wire) => {
  const files = readdirSync(recordingsOf(wire)).filter((file) => file.endsWith('.http'));
  const names = new Set(files.map((file) => file.replace(/(?:\.whole|\.stream)?\.http$/, '')));
  return [...names].map((name) => `${wire}/${name}`);
});

const call = (city: string) => ({ name: 'get_weather', input: { city } });
/** The turns of a session in one API. */
const turns: Turn[] = [
  { text: 'I am a gateway.' },
  { text: 'I am a gateway.' },
  { reasoning: 'I look it up.', calls: [call('Bern'), call('Olten')] },
  { text: 'Sunny.' },
  { text: '{"city":"Bern"}' },
  { fail: { status: 429, message: 'Too fast.' } },
  { text: 'One two three four five.', after: 'silence' },
];

let recordings: Awaited<ReturnType<typeof openRecordings>>;
/** The gateway of the guides. */
let examples: TestGateway;
let backEnds: Awaited<ReturnType<typeof startStrictBackEnds>>;
beforeAll(async () => {
  recordings = await openRecordings(wires);
  examples = await testGateway(examplesConfig);
  backEnds = await startStrictBackEnds();
});
afterAll(() => Promise.all([recordings.close(), examples.close(), backEnds.close()]));

/** Runs a program. @returns the lines that it prints */
async function run([program, ...parameters]: string[]): Promise<Line[]> {
  const at = ({ baseUrl, key }: Pick<TestGateway, 'baseUrl' | 'key'>) => ({ base_url: baseUrl, key });
  const child = spawn(program!, parameters, { stdio: ['pipe', 'pipe', 'inherit'], timeout: 2 * patienceMs });
  child.stdin.end(
    JSON.stringify({
      recordings: { ...at(recordings.gateway), models },
      sessions: backEnds.all.map(({ gateway, model, id }) => ({ ...at(gateway), model, id })),
      embeddings: { ...at(examples), model: 'simulator/embedding' },
    }),
  );
  const [printed] = await Promise.all([text(child.stdout), once(child, 'close')]);
  const lines = printed.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as Line);
}

const isKnown = (line: Line): boolean =>
  known.some(
    ({ call: of, model, fault }) =>
      fault.test(String(line['fault'])) &&
      of.test(String(line['call'])) &&
      (model?.test(String(line['model'])) ?? true),
  );

/** Returns the result of a session without known faults. */
function findSession(lines: readonly Line[], id: string, api: string): Line | undefined {
  const found = lines.find((line) => line['id'] === id && line['api'] === api);
  const faults = found?.['faults'] as string[] | undefined;
  return found && { ...found, faults: faults?.filter((fault) => !isKnown({ call: api, model: id, fault })) };
}

const failure = (api: string, status: number, message: string) => ({
  status,
  ...(api === 'messages' && { type: expect.stringMatching(/_error$/) }),
  message: expect.stringContaining(message),
});

const session = (id: string, api: string) => ({
  id,
  api,
  text: 'I am a gateway.',
  streamed: 'I am a gateway.',
  calls: [expect.stringMatching(/^get_weather.*Bern/), expect.stringMatching(/^get_weather.*Olten/)],
  answer: 'Sunny.',
  structured: expect.stringContaining('Bern'),
  busy: failure(api, 429, 'Too fast.'),
  unknown: failure(api, 400, 'unknown/model'),
  cancelled: true,
  faults: [],
});

/** Each session ends with a request that the client cancels. */
async function expectCancelled({ upstream }: BackEnd, earlier: number): Promise<void> {
  const requests = upstream!.requests.slice(earlier).filter((request) => !isCount(request));
  const held = requests.filter((_, index) => index % turns.length === turns.length - 1);
  expect(held).toHaveLength(3);
  expect(await Promise.all(held.map(({ closed }) => closed))).toEqual(['aborted', 'aborted', 'aborted']);
}

describe.each(languages)('the official clients for $name', ({ name, variable, build, command, guide }) => {
  const folder = process.env[variable];
  const isHere = folder !== undefined && existsSync(join(folder, 'complete'));

  it.skipIf(isHere)('are not here', ({ skip }) => {
    const reason = `${variable} names no folder that ${build} has filled`;
    process.stderr.write(`tests/clients/typed.full.test.ts is skipped: ${reason}\n`);
    skip(reason);
  });

  it.skipIf(!isHere).each(['newest', 'older'])(
    'work through every wire and read every recorded answer, %s major',
    { timeout: 3 * patienceMs },
    async (major) => {
      const earlier = backEnds.all.map(({ upstream }) => upstream!.requests.length);
      for (const backEnd of backEnds.all) backEnd.script('', ...turns, ...turns, ...turns);
      const lines = await run(command(join(folder!, major)));
      for (const { id } of backEnds.all)
        for (const api of ['responses', 'chat', 'messages'])
          expect(findSession(lines, id, api)).toMatchObject(session(id, api));
      for (const [index, backEnd] of backEnds.all.entries()) {
        expect(backEnd.refusals).toEqual([]);
        await expectCancelled(backEnd, earlier[index]!);
      }
      expect(lines).toContainEqual({ vectors: 2, faults: [] });
      expect(lines.at(-1)).toEqual({ answers: models.length * 6 });
      expect(lines.filter((line) => 'fault' in line && !isKnown(line))).toEqual([]);
    },
  );

  it.skipIf(!isHere)('run the programs of the guide as they stand', { timeout: 3 * patienceMs }, async () => {
    const programs = readExamples('docs/guides/clients.md', name.toLowerCase(), examples);
    expect(programs).toHaveLength(1);
    const own = mkdtempSync(join(tmpdir(), 'headgate-guide-'));
    onTestFinished(() => rmSync(own, { recursive: true }));
    const file = join(own, guide.file);
    writeFileSync(file, programs[0]!.code);
    const [program, ...parameters] = guide.command(folder!, file);
    const { stdout } = await promisify(execFile)(program!, parameters, {
      env: { ...process.env, HEADGATE_KEY: examples.key },
    });
    expect(stdout.trim().split('\n')).toEqual([expect.stringContaining('Hello'), expect.stringContaining('Hello')]);
  });
});
