import { INJECTION_SLUG, recognizedSlugs } from '../../domain/content-filter.ts';
import { type Issue, invalidRequest } from '../../domain/errors.ts';
import { checkCustomFilters, type FilterIssue } from '../../guardrails/custom-pattern.ts';
import type { ManagementParts } from '../parts.ts';
import type { GuardrailSettingsBody } from './schema.ts';

/**
 * Rejects content filters that cannot work.
 *
 * @throws {GatewayError} `invalid_request`, with `metadata.code` `invalid_regex_pattern` if a pattern is the reason
 * @see docs/reference/guardrails.md#custom-filters
 */
export async function rejectBadFilters(
  { contentFilters }: Pick<ManagementParts, 'contentFilters'>,
  {
    content_filter_builtins,
    content_filters,
  }: Pick<GuardrailSettingsBody, 'content_filter_builtins' | 'content_filters'>,
): Promise<void> {
  const issues: FilterIssue[] = [
    ...checkBuiltinFilters(content_filter_builtins ?? [], contentFilters.entities().recognizer !== undefined),
    ...(await checkCustomFilters(content_filters ?? [], 'content_filters')),
  ];
  if (issues.length === 0) return;
  const error = invalidRequest(issues);
  const code = issues.find((issue) => issue.code !== undefined)?.code;
  if (code !== undefined) error.metadata['code'] = code;
  throw error;
}

type BuiltinBody = NonNullable<GuardrailSettingsBody['content_filter_builtins']>[number];

function checkBuiltinFilters(filters: readonly BuiltinBody[], hasAnalyzer: boolean): Issue[] {
  const issues: Issue[] = [];
  for (const [index, { slug, scan_scope, apply_to }] of filters.entries()) {
    const path = `content_filter_builtins[${index}]`;
    const isRecognized = recognizedSlugs.some((each) => each === slug);
    if (isRecognized && !hasAnalyzer) {
      const message = `${slug} needs an external analyzer: set guardrails.analyzer_url in the configuration.`;
      issues.push({ path: `${path}.slug`, message });
    }
    if (isRecognized && apply_to?.includes('output')) {
      const message = `${slug} cannot apply to output: the analyzer needs whole texts, and output leaves in pieces.`;
      issues.push({ path: `${path}.apply_to`, message });
    }
    if (scan_scope !== undefined && slug !== INJECTION_SLUG) {
      const message = `\`scan_scope\` is only for ${INJECTION_SLUG}; ${slug} scans all messages.`;
      issues.push({ path: `${path}.scan_scope`, message });
    }
    if (scan_scope === 'user_only' && apply_to?.includes('output')) {
      const message = '`scan_scope` user_only cannot apply to output: no user writes it.';
      issues.push({ path: `${path}.apply_to`, message });
    }
  }
  return issues;
}
