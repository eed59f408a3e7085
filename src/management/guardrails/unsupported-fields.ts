import { type Issue, unsupportedRequest } from '../../domain/errors.ts';
import { show } from '../../schema/report.ts';
import type { GuardrailSettingsBody } from './schema.ts';

/** The fields of the interface that this build does not offer, and what to do instead. */
export const unsupportedFields = {
  allowed_data_regions: 'Name the providers of the region in `allowed_providers`.',
} as const satisfies Partial<Record<keyof GuardrailSettingsBody, string>>;

/**
 * Rejects rules that would have no effect. Null is accepted. An empty list of regions would allow no region, so it is
 * rejected.
 *
 * @throws {GatewayError} `not_offered`, with every such field in `metadata.issues`
 */
export function rejectUnsupportedFields(body: GuardrailSettingsBody): void {
  const issues = Object.entries(unsupportedFields).flatMap(([field, instead]): Issue[] => {
    const value = body[field as keyof typeof unsupportedFields];
    if (value === undefined || value === null) return [];
    const message = `\`${field}\` with the value ${show(value)} is not offered by this build. ${instead}`;
    return [{ path: field, message }];
  });
  if (issues.length > 0) throw unsupportedRequest(issues);
}
