import type { Environment } from './environment.ts';
import type { Problem } from './interpolate.ts';
import { isMapping } from './path.ts';

/** A bucket, and an optional prefix of the names of its objects. */
export const bucketPattern =
  's3://[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9](/(?!\\.{1,2}(/|$))[A-Za-z0-9._-]{1,254}){0,8}/?';

/** The variables that programs for S3 have in common. The first one that is set counts. */
const variables = {
  endpoint: ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'],
  region: ['AWS_REGION', 'AWS_DEFAULT_REGION'],
} as const;

/**
 * Adds settings of the environment to the bucket of `files.url`. The key, its secret and its token come from the same
 * place.
 *
 * @param tree is changed
 * @returns required settings that are missing, and the setting that `files.url` has replaced
 */
export function completeFileStore(tree: Record<string, unknown>, environment: Environment): Problem[] {
  const { files } = tree;
  if (!isMapping(files)) return [];
  const problems: Problem[] = [];
  if (files.folder !== undefined) {
    const message = `is now files.url: replace it with \`url: "file:${String(files.folder).slice(0, 200)}"\``;
    problems.push({ path: ['files', 'folder'], message });
    delete files.folder; // the schema must not report it again
  }
  if (typeof files.url !== 'string' || !files.url.startsWith('s3://')) return problems;
  files.s3 ??= {};
  if (!isMapping(files.s3)) return problems; // the schema says so
  const { s3 } = files;
  const find = (names: readonly string[]): string | undefined =>
    names.map((name) => environment[name]).find((value) => value !== undefined && value !== '');
  for (const [key, names] of Object.entries(variables)) {
    const value = find(names);
    if (s3[key] === undefined && value !== undefined) s3[key] = value;
  }
  if (s3.access_key_id === undefined && s3.secret_access_key === undefined) {
    const [id, secret, token] = ['ACCESS_KEY_ID', 'SECRET_ACCESS_KEY', 'SESSION_TOKEN'].map((name) =>
      find([`AWS_${name}`]),
    );
    if (id !== undefined) s3.access_key_id = id;
    if (secret !== undefined) s3.secret_access_key = secret;
    if (token !== undefined) s3.session_token ??= token;
  }
  const demand = (key: string, variable: string): void => {
    if (s3[key] !== undefined) return;
    problems.push({ path: ['files', 's3', key], message: `is missing: set ${variable}, or add it here` });
  };
  demand('access_key_id', 'AWS_ACCESS_KEY_ID');
  demand('secret_access_key', 'AWS_SECRET_ACCESS_KEY');
  if (s3.endpoint === undefined) demand('region', 'AWS_REGION');
  return problems;
}
