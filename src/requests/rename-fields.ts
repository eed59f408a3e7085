import type { GatewayError, Issue } from '../domain/errors.ts';
import type { RouterMetadata } from '../domain/router-metadata.ts';

/** Turns the fields of `POST /responses` in a text into those of another API. */
export type RenameFields = (text: string) => string;

/** Returns the metadata of an error with the fields of another API. */
export function renameIssues({ metadata }: GatewayError, rename: RenameFields): Record<string, unknown> {
  const issues = metadata['issues'] as Issue[] | undefined;
  if (!issues) return metadata;
  const renamed = issues.map(({ path, message }) => ({ path: rename(path), message: rename(message) }));
  return { ...metadata, issues: renamed };
}

/** Renames the fields that the metadata lists. */
export function renameMetadata(metadata: RouterMetadata, rename: RenameFields): RouterMetadata {
  const { params, attempts } = metadata;
  const renamed: RouterMetadata = { ...metadata };
  if (attempts) {
    renamed.attempts = attempts.map((each) => (each.message ? { ...each, message: rename(each.message) } : each));
  }
  if (params) {
    renamed.params = Object.fromEntries(
      Object.entries(params).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.map((each) => (typeof each === 'string' ? rename(each) : each)) : value,
      ]),
    );
  }
  return renamed;
}
