import { expect, it } from 'vitest';
import { createPrettyFormat } from './pretty-log.ts';

const time = new Date(2026, 10, 22, 10, 14, 2).getTime();
const run = {
  level: 30,
  time,
  pid: 1,
  hostname: 'h',
  msg: 'request',
  request_id: 'req_1',
  generation_id: 'gen-1',
  requested_model: 'openai/gpt-5-mini',
  model: 'openai/gpt-5-mini',
  provider: 'groq',
  status: 200,
  outcome: 'completed',
  error_type: null,
  attempts: 2,
  duration_ms: 812.4,
  input_tokens: 1000,
  output_tokens: 200,
  cost_usd: 0.00065,
};
const plain = createPrettyFormat({ hasColors: false });
const write = (fields: object) => plain(`${JSON.stringify({ ...run, ...fields })}\n`);

it('writes a request as one line', () => {
  expect(write({})).toBe('10:14:02  200  openai/gpt-5-mini -> groq  812 ms  1,000+200 tokens  $0.00065\n');
});

it('names the attempts that failed before', () => {
  const failed = (provider: string, status: number) => ({ model: 'a/b', provider, status });
  expect(write({ failed_attempts: [failed('openai', 529)] })).toContain('groq  (after openai 529)  812 ms');
  const many = [failed('a', 500), failed('b', 502), failed('c', 503), failed('d', 504), failed('e', 529)];
  expect(write({ failed_attempts: many })).toContain('(after a 500, b 502, c 503, 2 more)');
});

it('shows the model that a router chose, and marks costs that are estimated or unknown', () => {
  expect(write({ requested_model: 'router/auto' })).toContain('router/auto -> openai/gpt-5-mini -> groq');
  expect(write({ estimated: true })).toContain('  ~$0.00065\n');
  expect(write({ cost_usd: null })).toContain('tokens  no price\n');
});

it('shows what failed, without tokens and costs that there are not', () => {
  const failed = { status: 429, error_type: 'rate_limited', model: null, provider: null, outcome: 'failed' };
  expect(write({ ...failed, input_tokens: 0, output_tokens: 0, cost_usd: 0 })).toBe(
    '10:14:02  429  openai/gpt-5-mini  rate_limited  812 ms\n',
  );
  expect(write({ outcome: 'cancelled', worker: 1 })).toContain('groq  cancelled  812 ms');
  expect(write({ worker: 1 })).toMatch(/ {2}worker 1\n$/);
});

it('writes other answers with their route, and other lines with their values', () => {
  const answer = {
    level: 30,
    time,
    msg: 'request',
    method: 'GET',
    route: '/api/v1/models',
    status: 200,
    duration_ms: 3,
  };
  expect(plain(JSON.stringify(answer))).toBe('10:14:02  200  GET /api/v1/models  3 ms\n');
  expect(plain(JSON.stringify({ level: 40, time, pid: 1, hostname: 'h', msg: 'store closed', times: 2 }))).toBe(
    '[10:14:02] WARN: store closed: times 2\n',
  );
});

it('writes a failure as one line with its cause and its id', () => {
  const attempt = { model: 'a/b', provider: 'openai', status: 529 };
  const failed = {
    level: 40,
    msg: 'request failed',
    status: 502,
    error_type: 'provider_unavailable',
    error: 'groq cannot be reached (ECONNREFUSED).',
    failed_attempts: [attempt, attempt, { ...attempt, status: 500 }],
    input_tokens: 0,
    output_tokens: 0,
    cost_usd: 0,
    model: null,
  };
  expect(write(failed)).toBe(
    '10:14:02  502  openai/gpt-5-mini -> groq  (after openai 529 x2, openai 500)  groq cannot be reached (ECONNREFUSED)  812 ms  gen-1\n',
  );
  const err = { type: 'TypeError', message: 'x is\nno function', stack: 'TypeError: x\n    at f (a.ts:1:2)\n    at g' };
  expect(write({ ...failed, failed_attempts: undefined, error: 'unexpected', err })).toContain(
    '  x is no function (at f (a.ts:1:2))  812 ms',
  );
});

it('writes an error as one line, and its details at debug', () => {
  const err = { type: 'Error', message: 'connect ECONNREFUSED 127.0.0.1:1', code: 'ECONNREFUSED' };
  const line = { level: 50, time, pid: 1, hostname: 'h', msg: 'ledger write failed', err, queued: 1 };
  expect(plain(JSON.stringify(line))).toBe(
    '[10:14:02] ERROR: ledger write failed: connect ECONNREFUSED 127.0.0.1:1, queued 1\n',
  );
  const back = { level: 30, time, msg: 'store recovered', outage_ms: 17_527 };
  expect(plain(JSON.stringify(back))).toBe('[10:14:02] INFO: store recovered: outage 17,527 ms\n');
  const details = {
    ...line,
    level: 20,
    msg: 'error details',
    of: line.msg,
    err: { ...err, stack: 'Error: no\n    at f' },
  };
  expect(plain(JSON.stringify(details))).toContain('DEBUG: error details of "ledger write failed": Error: no\n');
});

it('shows control characters of names instead of obeying them', () => {
  const name = 'a\u001b]0;title\u0007\u202eb\nc';
  expect(write({ requested_model: name })).toContain('a\\u001b]0;title\\u0007\\u202eb c -> ');
  expect(write({ requested_model: name }).split('\n')).toHaveLength(2);
});

it('colors the status', () => {
  const colored = createPrettyFormat({ hasColors: true });
  expect(colored(JSON.stringify({ ...run, status: 503 }))).toContain('\u001b[31m503\u001b[39m');
});
