import type { GatewayError } from '../domain/errors.ts';

/** Returns all issues of an error, one per line, because a terminal does not show `error.metadata`. */
export function readIssues({ message, metadata }: GatewayError): string {
  const issues = metadata['issues'] as { path: string; message: string }[] | undefined;
  if (issues === undefined || issues.length < 2) return message;
  return issues.map((issue) => (issue.path === '' ? issue.message : `${issue.path}: ${issue.message}`)).join('\n');
}
