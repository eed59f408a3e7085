import { readFileSync } from 'node:fs';
import Schema from 'typebox/schema';
import { describe, expect, it } from 'vitest';
import type { ResponseRequest } from '../../domain/request.ts';
import { wires } from '../index.ts';
import { getTextWire } from '../text-wire.ts';
import { ruleCases } from './cases/index.ts';
import { writeRulesPage } from './describe-rules.ts';
import { facets } from './facets.ts';
import { asksForStream } from './asks-for-stream.ts';
import { bareName, resolveSettings } from './resolve.ts';
import { type Rule, type RuleSet, ruleSets } from './rule-sets.ts';
import { findUnread, ruledWires } from './unread.ts';

const all = ruleSets.flatMap((set) => set.rules.map((rule): [string, Rule, RuleSet] => [rule.id, rule, set]));
const byId = new Map(all.map(([id, , set]) => [id, set]));

it('have different ids', () => expect(byId.size).toBe(all.length));

it.each(all)('%s is a rule with a source, a date, settings of its wires and a case', (id, { rule, set, source, seen }, {
  match,
}) => {
  expect(rule).toMatch(/^[A-Z`].*\.$/);
  expect(source).toMatch(/^[\w.-]+\/[\w.-]+#\d+|^docs: \S+|^code: \S+/);
  expect(seen).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  if (match.models) expect(bareName(match.example)).toMatch(match.models);
  for (const wire of match.wires ?? ['openai-chat']) wires.get(wire)!.checkDialect!(set);
  expect(findUnread(match.wires ?? ruledWires, set)).toEqual([]);
  for (const [name, value] of Object.entries(set)) {
    if (name in facets) expect(Schema.Check(facets[name as keyof typeof facets], value)).toBe(true);
  }
  expect(ruleCases.some(({ rules }) => [rules].flat().includes(id))).toBe(true);
});

const user = { type: 'message', role: 'user', content: 'Hi' } as const;
const named = ruleCases.map((each): [string, (typeof ruleCases)[number]] => [[each.rules].flat().join(', '), each]);

describe('a request is fitted', () => {
  it.each(named)('to %s', (_, {
    rules,
    request,
    body,
    headers,
    effort,
    limit,
    without = [],
    dropped = [],
    error,
    reader,
    streams,
    stream = false,
  }) => {
    const [first] = [rules].flat();
    const set = byId.get(first!);
    if (!set) throw new Error(`There is no rule ${first}.`);
    for (const wire of set.match.wires ?? ['openai-chat']) {
      const place = {
        wire,
        provider: set.match.providers?.[0] ?? 'acme',
        host: set.match.hosts?.[0],
        model: set.match.example,
      };
      const { input = [user], ...settings } = request;
      const full: ResponseRequest = {
        ...settings,
        input: typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input,
      };
      if (streams !== undefined) expect(asksForStream(resolveSettings(place, {}), full, false)).toBe(streams);
      const write = () =>
        getTextWire(wires.get(wire)!).writeRequest(full, {
          endpoint: 'acme/one at Acme',
          upstreamModel: place.model,
          stream,
          account: 'hg_account',
          showsSources: true,
          session: 'hg_session',
          dialect: resolveSettings(place, {}),
        });
      if (error) {
        expect(write).toThrow(error);
        continue;
      }
      const written = write();
      if (body) expect(written.body).toMatchObject(body);
      if (headers) expect(written.headers).toMatchObject(headers);
      if (reader) expect(written.readerContext).toMatchObject(reader);
      const { reasoning, ...fields } = written.body as { reasoning?: { effort?: string } } & Record<string, unknown>;
      if (effort !== undefined) expect(reasoning?.effort ?? fields['reasoning_effort']).toBe(effort);
      const limits = [fields['max_output_tokens'], fields['max_completion_tokens'], fields['max_tokens']];
      if (limit !== undefined) expect(limits).toContain(limit);
      for (const field of without) expect(written.body).not.toHaveProperty(field);
      for (const name of dropped) expect(written.dropped).toContainEqual(expect.stringContaining(name));
    }
  });
});

it('are all on the reference page: run `npm run docs`', () => {
  const page = readFileSync(new URL('../../../docs/reference/provider-rules.md', import.meta.url), 'utf8');
  expect(page).toBe(writeRulesPage());
});
