import type { Issue } from '../../domain/errors.ts';
import { findOptionsProblem } from '../../domain/provider-options.ts';
import { isObject } from '../../schema/by-kind.ts';
import { explainIssues } from '../../schema/explain-issues.ts';
import { Report, show } from '../../schema/report.ts';
import type { ModulePlugins } from '../module-plugins.ts';
import { checkConversation } from './check-conversation.ts';
import { checkPlugins } from './check-plugins.ts';
import { checkTools } from './check-tools.ts';
import { isRequestBody, requestSchema } from './schema.ts';

/**
 * Returns every problem of a `POST /responses` body that is a 400: shapes first, then the rules that need more than one
 * field.
 *
 * @param body from `readJson`, which limits its depth and its numbers
 * @param modules the operator's plugins. Absent: there are none
 * @returns at most 100 issues; none if the body is a `RequestBody`
 * @see docs/reference/responses.md#request-body, docs/reference/items.md, docs/reference/tools.md
 * @see docs/reference/errors.md
 */
export function checkRequest(body: unknown, modules?: ModulePlugins): Issue[] {
  const report = new Report();
  if (!isObject(body)) {
    report.add('', `must be a JSON object, got ${show(body)}`);
    return report.issues;
  }
  if (!isRequestBody(body)) {
    explainIssues(requestSchema, body, '', report);
    // A body that failed its check is rejected, even if there is no explanation.
    if (report.issues.length === 0) report.add('', 'has a shape that the interface does not know');
  }
  checkRules(body, modules, report);
  return report.issues;
}

/** Checks the rules that need more than one field. */
export function checkRules(body: Record<string, unknown>, modules: ModulePlugins | undefined, report: Report): void {
  if (body['plugins'] !== undefined) checkPlugins(body['plugins'], modules, 'plugins', report);
  const options = isObject(body['provider']) ? body['provider']['options'] : undefined;
  if (isObject(options)) {
    const problem = findOptionsProblem(options);
    if (problem) report.add(['provider.options', problem.path].filter(Boolean).join('.'), problem.message);
  }
  checkConversation(body, report);
  checkTools(body, report);
}
