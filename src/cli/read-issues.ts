import type { GatewayError } from '../domain/errors.ts';

/** All that is wrong, a line each: on a terminal there is no `error.metadata` to look into. */
export function readIssues({ message, metadata }: GatewayError): string {
  const issues = metadata['issues'] as { path: string; message: string }[] | undefined;
  if (issues === undefined || issues.length < 2) return message;
  return issues.map((issue) => (issue.path === '' ? issue.message : `${issue.path}: ${issue.message}`)).join('\n');
}
