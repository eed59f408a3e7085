import { describe, expect, it } from 'vitest';
import type { BuiltinSlug, ContentFilter, FilterAction } from '../domain/content-filter.ts';
import { createBlockError, createGuardrailStages, type FilterHit, MAX_REPORTED_PATTERNS } from './report-findings.ts';

const hit = (filter: ContentFilter, parts: Partial<FilterHit> = {}): FilterHit => ({
  filter,
  source: { id: 'g1', scope: 'api-key' },
  ids: [],
  texts: [],
  ...parts,
});
const builtin = (slug: BuiltinSlug, action: FilterAction = 'block'): ContentFilter => ({
  type: 'builtin',
  slug,
  action,
});
const custom = (label: string | null): ContentFilter => ({ type: 'custom', pattern: 'x', label, action: 'block' });
const injected = hit(builtin('regex-prompt-injection'), { ids: ['system_override'], texts: ['system override'] });

describe('the error of a blocked request', () => {
  it.each([
    [injected, 'Request blocked: prompt injection patterns detected', ['system override']],
    [hit(builtin('email'), { ids: ['EMAIL'] }), 'Request blocked by content filter: Email address', ['EMAIL']],
    [hit(builtin('ssn'), { ids: ['SSN'] }), 'Request blocked by content filter: Social Security number', ['SSN']],
    [
      hit(builtin('secrets'), { ids: ['npm-access-token'] }),
      'Request blocked by content filter: Secret',
      ['SECRET:npm-access-token'],
    ],
    [hit(custom('Project names')), 'Request blocked by content filter: Project names', ['Project names']],
    [hit(custom(null)), 'Request blocked by content filter: [BLOCKED]', ['[BLOCKED]']],
    [hit(builtin('person-name'), { ids: ['PERSON'] }), 'Blocked PII detected: PERSON', ['PERSON']],
  ])('names what was found', (found, message, patterns) => {
    const error = createBlockError([found]);
    expect(error).toMatchObject({ status: 403, errorType: 'permission_denied', message, metadata: { patterns } });
  });

  it('reports prompt injections first, then the first filter that blocks', () => {
    const flagged = hit(builtin('phone', 'flag'), { ids: ['PHONE'] });
    const email = hit(builtin('email'), { ids: ['EMAIL'] });
    const card = hit(builtin('credit-card'), { ids: ['CREDIT_CARD'] });
    expect(createBlockError([flagged, email, card, injected]).metadata).toEqual({ patterns: ['system override'] });
    expect(createBlockError([flagged, email, card])).toMatchObject({
      message: 'Request blocked by content filter: Email address',
      metadata: { patterns: ['EMAIL', 'CREDIT_CARD'] },
    });
  });

  it('lists each text once, and a bounded number', () => {
    const texts = Array.from({ length: 200 }, (_, index) => `text ${index % 100}`);
    const { patterns } = createBlockError([{ ...injected, texts }]).metadata as { patterns: string[] };
    expect(patterns).toEqual(texts.slice(0, MAX_REPORTED_PATTERNS));
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
          patterns: ['system override'],
          pattern_ids: ['system_override'],
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
          matched_entity_types: ['PERSON'],
        },
      },
    ]);
  });

  it('are none if nothing was found', () => {
    expect(createGuardrailStages([])).toEqual([]);
  });
});
