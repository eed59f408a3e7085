import type { FilterSource } from '../../domain/content-filter.ts';
import { invalidRequest } from '../../domain/errors.ts';
import { builtinTexts } from '../../guardrails/builtin-filters.ts';
import { type CombinedFilter, findStrictest } from '../../guardrails/combine-filters.ts';
import type { FilterFinding } from '../../guardrails/filter-scan.ts';
import { FindingTally } from '../../guardrails/finding-tally.ts';
import { createBlockError } from '../../guardrails/report-findings.ts';
import { scanEntities } from '../../guardrails/scan-entities.ts';
import { TextScanner } from '../../guardrails/text-scanner.ts';
import type { ManagementParts } from '../parts.ts';
import { rejectBadFilters } from './check-filters.ts';
import { createEmptyGuardrail, getGuardrail } from './find-guardrail.ts';
import type { TestGuardrailBody } from './schema.ts';
import { readGuardrailSettings } from './write-guardrail.ts';

/** Findings that a result lists. */
const MAX_LISTED = 100;
const pastTense = { flag: 'flagged', redact: 'redacted', block: 'blocked' } as const;

/**
 * Applies the content filters of a guardrail, or those of the body, to a text, as they would apply to a request. Nothing is
 * stored.
 *
 * @returns what they found and did, as the API shows it
 * @throws {GatewayError} `not_found`; `invalid_request` for filters that cannot work
 */
export async function testFilters(parts: ManagementParts, body: TestGuardrailBody): Promise<Record<string, unknown>> {
  const { text, kind = 'user' } = body;
  const { entities, sets } = parts.contentFilters;
  const filters = await sets().find([await findSource(parts, body)], kind);
  if (!filters)
    return writeResult({ text, kind, combined: [], findings: [], skipped: undefined, tally: new FindingTally() });
  const { combined, compiled } = filters;
  const { signal } = new AbortController();
  const tally = new FindingTally();
  const scanned = await new TextScanner({}).scan(compiled, text, 'plain');
  tally.add(combined, scanned);
  if (scanned.isBlocked)
    return writeResult({ text, kind, combined, tally, findings: scanned.findings, skipped: undefined });
  const { results, skipped } = await scanEntities([{ text: scanned.text, filters: combined }], entities(), signal);
  const analyzed = results.get(0);
  if (analyzed) tally.add(combined, analyzed, entities().recognizer?.engine);
  const findings = [...scanned.findings, ...(analyzed?.findings ?? [])];
  return writeResult({ text: analyzed?.text ?? scanned.text, kind, combined, findings, skipped, tally });
}

async function findSource(parts: ManagementParts, body: TestGuardrailBody): Promise<FilterSource> {
  const { guardrail_id: id, content_filters, content_filter_builtins } = body;
  const hasFilters = content_filters !== undefined || content_filter_builtins !== undefined;
  if ((id === undefined) !== hasFilters) {
    const message = 'Send either `guardrail_id`, or `content_filter_builtins` and `content_filters`.';
    throw invalidRequest([{ path: 'guardrail_id', message }]);
  }
  await rejectBadFilters(parts, body);
  const empty = createEmptyGuardrail({ id: '', workspaceId: '', name: '', createdAtMs: 0 });
  const { rules } = id === undefined ? readGuardrailSettings(body, empty) : await getGuardrail(parts.management, id);
  const { builtinFilters, customFilters } = rules;
  return {
    id: id ?? '',
    scope: 'api-key',
    builtinFilters: builtinFilters ?? [],
    customFilters: customFilters ?? [],
  };
}

interface Tested {
  /** The text with placeholders. It is not shown if the text is blocked. */
  text: string;
  kind: string;
  combined: readonly CombinedFilter[];
  findings: readonly FilterFinding[];
  skipped: string | undefined;
  tally: FindingTally;
}

function writeResult({ text, kind, combined, findings, skipped, tally }: Tested): Record<string, unknown> {
  const hits = tally.list();
  const action = findStrictest(hits.map(({ filter }) => filter.action));
  const error = action === 'block' ? createBlockError(hits, kind === 'output' ? 'Response' : 'Request') : undefined;
  return {
    action: action === undefined ? 'passed' : pastTense[action],
    text: error ? null : text,
    error: error
      ? {
          code: error.status,
          message: error.message,
          metadata: { error_type: error.errorType, ...error.metadata },
        }
      : null,
    findings: findings.slice(0, MAX_LISTED).map((finding) => writeFinding(finding, combined)),
    skipped: skipped ?? null,
  };
}

function writeFinding({ filter: index, id, start, end }: FilterFinding, combined: readonly CombinedFilter[]) {
  const { filter } = combined[index]!;
  return {
    slug: filter.type === 'builtin' ? filter.slug : null,
    pattern: filter.type === 'builtin' ? null : filter.pattern,
    label: filter.type === 'builtin' ? builtinTexts[filter.slug].label : filter.label,
    action: filter.action,
    id: id === '' ? null : id,
    start,
    end,
  };
}
