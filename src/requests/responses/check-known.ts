import { GatewayError, type Issue } from '../../domain/errors.ts';
import { NATIVE_FIELD } from '../../domain/native.ts';
import { isObject } from '../../schema/by-kind.ts';
import { findUnknown, type Unknown } from '../../schema/find-unknown.ts';
import { maxIssues } from '../../schema/report.ts';
import { requestSchema } from './schema.ts';
import { inputItem } from './schema/items.ts';

/**
 * Rejects the fields of an intern's request that the gateway does not know, at every depth, because a provider may open
 * the address in one.
 *
 * @param isTranslated whether the gateway has written the request from another format. What only that format can say is
 *   left out later
 * @throws {GatewayError} `permission_denied`, with every unknown field in `metadata.issues`
 * @see docs/reference/interns.md#reach
 */
export function checkKnown(request: object, isTranslated: boolean): void {
  const issues: Issue[] = [];
  for (const { path, what } of findAll(request as Record<string, unknown>, isTranslated)) {
    const says = what === 'field' ? 'is not a known field' : 'is not a known value';
    issues.push({ path, message: `\`${path}\` ${says}. Interns send only what the gateway knows.` });
    if (issues.length === maxIssues) break;
  }
  if (issues.length === 0) return;
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more: see error.metadata.issues)` : '';
  throw new GatewayError('permission_denied', issues[0]!.message + more, {
    metadata: { param: issues[0]!.path, issues },
  });
}

function* findAll(request: Record<string, unknown>, isTranslated: boolean): Generator<Unknown> {
  const { input } = request;
  const skips = (path: string, field: string, value: unknown): boolean =>
    isParsedFile(path, field) ||
    (ownFields.has(field) && itemPath.test(path)) ||
    (isTranslated && isNative(path, field, value));
  for (const [field, schema] of Object.entries(requestSchema.properties)) {
    if (field !== 'plugins' && field !== 'input') yield* findUnknown(schema, request[field], skips, field); // their settings stay here
  }
  if (Array.isArray(input)) yield* findInItems(input, 'input', skips);
}

/** Items of the gateway's own tools reach no provider. */
function* findInItems(
  items: readonly unknown[],
  path: string,
  skips: Parameters<typeof findUnknown>[2],
): Generator<Unknown> {
  for (const [index, item] of items.entries()) {
    if (!isObject(item) || String(item['type']).startsWith('router:')) continue;
    const at = `${path}[${index}]`;
    yield* findUnknown(inputItem, item, skips, at);
    const inner = item['subagent_items'];
    if (Array.isArray(inner)) yield* findInItems(inner, `${at}.subagent_items`, skips);
  }
}

/** Fields that the gateway itself writes into the items of hosted tools and of suspended calls. */
const ownFields: ReadonlySet<string> = new Set([
  ...['arguments', 'error', 'note', 'status', 'approval_request_id', 'container_id', 'files', 'output'],
  'subagent_items',
]);

const itemPath = /^input(?:\[\d+\]\.subagent_items)*\[\d+\]$/;

/** Whether a field is an annotation of the plugin `file-parser`, which no provider gets. */
const isParsedFile = (path: string, field: string): boolean => field === 'file' && /\.annotations\[\d+\]$/.test(path);

/** Whether a field is one of the format of the client. `leave-out-native.ts` removes it. */
const isNative = (path: string, field: string, value: unknown): boolean =>
  (field === NATIVE_FIELD && nativePlace.test(path)) ||
  (field === 'block' && nativePlace.test(path) && isObject(value));

const nativePlace = /^(?:input\[\d+\](?:\.(?:content|output)\[\d+\])?|tools\[\d+\])$/;
