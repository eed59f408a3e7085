import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { Attempt } from '../api/types.ts';
import { timelineOf } from './timeline-bars.ts';
import { writeCurl } from './write-curl.ts';

const attempt = (fields: Partial<Attempt>): Attempt => ({
  step: 1,
  provider_name: 'Acme',
  provider_id: 'acme',
  model: 'acme/small',
  endpoint_id: 'acme/small@acme',
  is_byok: false,
  provider_key: null,
  status: 200,
  error_type: null,
  error_message: null,
  upstream_request_id: null,
  start_ms: 0,
  first_byte_ms: null,
  duration_ms: 100,
  tokens_prompt: 1,
  tokens_cached: 0,
  tokens_completion: 1,
  tokens_reasoning: 0,
  usage_estimated: false,
  total_cost: 0,
  ...fields,
});

describe('the time line', () => {
  it('has attempts and tools in the order of time', () => {
    const { bars, totalMs } = timelineOf({
      generation_time: 500,
      attempts: [
        attempt({ status: 529, duration_ms: 80 }),
        attempt({ start_ms: 90, provider_name: 'Bolt' }),
        attempt({ step: 2, start_ms: 400 }),
        attempt({ start_ms: null, status: 400 }),
      ],
      tool_calls: [{ step: 1, tool: 'router:datetime', outcome: 'ok', start_ms: 200, duration_ms: 150 }],
    });
    expect(totalMs).toBe(500);
    expect(bars.map(({ label, isFailed }) => [label, isFailed])).toEqual([
      ['1. Acme', true],
      ['2. Bolt', false],
      ['router:datetime', false],
      ['3. Acme, step 2', false],
    ]);
  });
});

describe('the command', () => {
  const entry = {
    requested_model: 'acme/small',
    model: null,
    streamed: true,
    session_id: null,
    tags: JSON.parse('{"team":"search"}'),
  };
  /** Runs the command in a shell in which `curl` prints its arguments. */
  const run = (command: string) =>
    execFileSync('sh', ['-c', `curl() { for each; do printf '%s\\0' "$each"; done; }; HEADGATE_KEY=sk\n${command}`], {
      encoding: 'utf8',
    }).split('\0');

  it('reaches the shell as it is, whatever a caller wrote', () => {
    const hostile = `it's $(touch /tmp/x) \`id\` "quoted" \\ end`;
    const items = [{ type: 'message', role: 'user', content: hostile }];
    const [url, , key, , type, , tags, , body] = run(
      writeCurl(entry, { items }, new URL('https://host/prefix/api/v1')),
    );
    expect([url, key, type, tags]).toEqual([
      'https://host/prefix/api/v1/responses',
      'Authorization: Bearer sk',
      'Content-Type: application/json',
      'X-Headgate-Tags: team=search',
    ]);
    expect(JSON.parse(body!)).toEqual({ model: 'acme/small', input: items, stream: true });
  });

  it('says that the input was not kept', () => {
    expect(writeCurl(entry, undefined, new URL('https://host/api/v1'))).toContain('The input was not kept');
  });
});
