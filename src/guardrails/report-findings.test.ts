import { describe, expect, it } from 'vitest';
import type { BuiltinSlug, ContentFilter, FilterAction } from '../domain/content-filter.ts';
import {
  createBlockError,
  createGuardrailStages,
  type FilterHit,
  MAX_REPORTED_LENGTH,
  MAX_REPORTED_PATTERNS,
} from './report-findings.ts';

const hit = (filter: ContentFilter, parts: Partial<FilterHit> = {}): FilterHit => ({
  filter,
  source: { id: 'g1', scope: 'api-key' },
  ids: [],
  ...parts,
});
const builtin = (slug: BuiltinSlug, action: FilterAction = 'block'): ContentFilter => ({
  type: 'builtin',
  slug,
  action,
});
const custom = (label: string | null, pattern = 'PRJ-\\d{4}'): ContentFilter => ({
  type: 'custom',
  pattern,
  label,
  action: 'block',
});
const injected = hit(builtin('regex-prompt-injection'), { ids: ['system_override'] });

describe('the error of a blocked request', () => {
  it.each([
    [injected, 'Request blocked: prompt injection patterns detected', ['system_override'], ['Prompt injection']],
    [
      hit(builtin('email'), { ids: ['EMAIL'] }),
      'Request blocked by content filter: Email address',
      ['EMAIL'],
      ['Email address'],
    ],
    [
      hit(builtin('ssn'), { ids: ['SSN'] }),
      'Request blocked by content filter: Social Security number',
      ['SSN'],
      ['Social Security number'],
    ],
    [
      hit(builtin('secrets'), { ids: ['npm-access-token'] }),
      'Request blocked by content filter: Secret',
      ['SECRET:npm-access-token'],
      ['Secret'],
    ],
    [
      hit(custom('Project names')),
      'Request blocked by content filter: Project names',
      ['PRJ-\\d{4}'],
      ['Project names'],
    ],
    [hit(custom(null)), 'Request blocked by content filter: [BLOCKED]', ['PRJ-\\d{4}'], undefined],
    [hit(custom('')), 'Request blocked by content filter: [BLOCKED]', ['PRJ-\\d{4}'], undefined],
    [hit(builtin('person-name'), { ids: ['PERSON'] }), 'Blocked PII detected: PERSON', ['PERSON'], ['Person name']],
  ])('names the pattern that matched and its label', (found, message, patterns, labels) => {
    const error = createBlockError([found]);
    expect(error).toMatchObject({ status: 403, errorType: 'permission_denied', message });
    expect(error.metadata).toEqual({ patterns, ...(labels && { labels }) });
  });

  it('reports prompt injections first, then the first filter that blocks', () => {
    const flagged = hit(builtin('phone', 'flag'), { ids: ['PHONE'] });
    const email = hit(builtin('email'), { ids: ['EMAIL'] });
    const card = hit(builtin('credit-card'), { ids: ['CREDIT_CARD'] });
    expect(createBlockError([flagged, email, card, injected]).metadata).toEqual({
      patterns: ['system_override'],
      labels: ['Prompt injection'],
    });
    expect(createBlockError([flagged, email, card])).toMatchObject({
      message: 'Request blocked by content filter: Email address',
      metadata: { patterns: ['EMAIL', 'CREDIT_CARD'], labels: ['Email address', 'Credit card number'] },
    });
  });

  it('lists each pattern once, a bounded number of them, and the beginning of a long one', () => {
    const sources = Array.from({ length: 200 }, (_, index) => `text ${index % 100}`);
    const { patterns } = createBlockError(sources.map((source) => hit(custom('Same', source)))).metadata;
    expect(patterns).toEqual(sources.slice(0, MAX_REPORTED_PATTERNS));
    const long = createBlockError([hit(custom(null, 'x'.repeat(100_000)))]).metadata;
    expect(long).toEqual({ patterns: [`${'x'.repeat(MAX_REPORTED_LENGTH - 1)}…`] });
  });
});

describe('the stages of guardrails', () => {
  it('are one for each guardrail and engine that found something', () => {
    const email = hit(builtin('email', 'flag'), { ids: ['EMAIL'] });
    const secret = hit(builtin('secrets', 'redact'), { ids: ['github-token'] });
    const name = hit(builtin('person-name', 'flag'), {
      ids: ['PERSON'],
      engine: 'presidio',
      source: { id: 'g2', scope: 'workspace' },
    });
    expect(createGuardrailStages([email, injected, secret, name])).toEqual([
      {
        type: 'guardrail',
        name: 'content-filter',
        summary: 'redacted: Email address, Secret',
        guardrail_id: 'g1',
        guardrail_scope: 'api-key',
        data: {
          action: 'redacted',
          detected: true,
          flagged: true,
          engines: ['regex'],
          patterns: ['EMAIL', 'SECRET:github-token'],
          labels: ['Email address', 'Secret'],
          matched_entity_types: ['EMAIL', 'SECRET'],
        },
      },
      {
        type: 'guardrail',
        name: 'regex_pi_detection',
        summary: 'blocked: prompt injection',
        guardrail_id: 'g1',
        guardrail_scope: 'api-key',
        data: {
          action: 'blocked',
          detected: true,
          flagged: true,
          engines: ['regex'],
          patterns: ['system_override'],
          labels: ['Prompt injection'],
        },
      },
      {
        type: 'guardrail',
        name: 'content-filter',
        summary: 'flagged: Person name',
        guardrail_id: 'g2',
        guardrail_scope: 'workspace',
        data: {
          action: 'flagged',
          detected: true,
          flagged: true,
          engines: ['presidio'],
          patterns: ['PERSON'],
          labels: ['Person name'],
          matched_entity_types: ['PERSON'],
        },
      },
    ]);
  });

  it('are none if nothing was found', () => {
    expect(createGuardrailStages([])).toEqual([]);
  });
});
