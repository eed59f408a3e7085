import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { logMessages } from '../../src/platform/telemetry/log-messages.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/reference/logs.md'), 'utf8');

it('docs/reference/logs.md has every message with its levels and fields', () => {
  const rows = [...page.matchAll(/^\| `([^`]+)` \| ([\w, ]+) \| ([^|]*)\| \S.*\|$/gm)].map(
    ([, message, levels, fields]) => ({
      message,
      levels: levels!.split(', '),
      fields: [...fields!.matchAll(/`(\w+)`/g)].map(([, field]) => field),
    }),
  );
  expect(rows).toEqual(Object.entries(logMessages).map(([message, shape]) => ({ message, ...shape })));
});

it('messages are lower case and constant, without a final period; fields are snake_case', () => {
  for (const [message, { fields }] of Object.entries(logMessages)) {
    expect(message).toMatch(/^[a-z]+(?: [a-z]+)*$/);
    for (const field of fields) expect(field).toMatch(/^[a-z]+(?:_[a-z]+)*$/);
  }
});
