import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { splitIntoPieces, recording } from '../../src/testing/scripted-responses.ts';
import { startBackEnds } from './back-end.ts';
import { openaiClient } from './openai-client.ts';

const backEnds = await startBackEnds();
afterAll(() => backEnds.close());

/** Events that are not in the types of the client: its helper throws on them. Its plain stream does not. */
const strangeToTheHelper = 'unknown-kinds';
/** Failures before any output, inside a stream that began with 200. */
const failing = { 'error-event': 502, 'failed-rate-limit': 429, 'blocked-prompt': 400, 'malformed-call': 502 };

/** Failures after some output, and the code that the helper throws. */
const failingMidway: Record<string, string> = {
  'broken-off': 'rate_limit_exceeded',
  'error-midway': 'provider_overloaded',
  'errors-midway': 'rate_limit_exceeded',
  failed: 'provider_unavailable',
  'overloaded-midway': 'provider_overloaded',
};

/** Recordings of `ai-sdk` are parts of a package, not of a server. */
const overHttp = backEnds.all.filter(({ upstream, kind }) => upstream && kind !== 'ai-sdk');

describe.each(overHttp)('recorded streams of $kind', (backEnd) => {
  const { kind, model, upstream } = backEnd;
  const client = openaiClient(backEnd);
  const folder = new URL(`../../src/providers/${kind}/recordings/`, import.meta.url);
  const names = globSync('*.stream.http', { cwd: fileURLToPath(folder) }).map((file) => basename(file, '.stream.http'));
  // Its response has no output and counts none, so the provider has failed.
  const failingHere: Record<string, number> = kind === 'anthropic-messages' ? { ...failing, empty: 502 } : failing;
  const answer = (name: string) => splitIntoPieces(recording(new URL(`${name}.stream.http`, folder)), 700);

  it.each(
    names.filter((name) => name !== strangeToTheHelper && !(name in failingHere)).sort(),
  )('pass through the stream helper of the openai client: %s', async (name) => {
    upstream!.respond(answer(name));
    const types: string[] = [];

    const stream = client.responses.stream({ model, input: 'Hello' }).on('event', ({ type }) => types.push(type));
    const final = stream.finalResponse();

    if (name in failingMidway) await expect(final).rejects.toMatchObject({ code: failingMidway[name] });
    else {
      const { status } = await final;
      expect(types.at(-1)).toBe(`response.${status}`);
    }
    expect(types.slice(0, 2)).toEqual(['response.created', 'response.in_progress']);
    expect(types.at(-1)).not.toBe('response.failed');
  });

  it.each(
    Object.entries(failingHere).filter(([name]) => names.includes(name)),
  )('keep the status of a failure before any output: %s is %i', async (name, status) => {
    upstream!.respond(answer(name));

    const final = client.responses.stream({ model, input: 'Hello' }).finalResponse();

    await expect(final).rejects.toMatchObject({ status });
  });

  it.runIf(names.includes(strangeToTheHelper))(
    'pass through the plain stream with unknown kinds of events',
    async () => {
      upstream!.respond(answer(strangeToTheHelper));
      const numbers: number[] = [];

      const stream = await client.responses.create({ model, input: 'Hello', stream: true });
      for await (const { sequence_number } of stream) numbers.push(sequence_number);

      expect(numbers).toEqual(numbers.map((_, index) => index));
      expect(numbers.length).toBeGreaterThan(5);
    },
  );
});
