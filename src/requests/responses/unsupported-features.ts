import { type Issue, unsupportedRequest } from '../../domain/errors.ts';
import { pluginOrder, routerPlugins } from '../../domain/plugin.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { maxIssues, show } from '../../schema/report.ts';
import { pluginFields } from './schema/plugins.ts';

/** One use of an unsupported feature. */
interface Hit {
  path: string;
  value: unknown;
}

/** A feature of the interface that this build does not support yet. */
export interface UnsupportedFeature {
  /** The field, as `docs/reference/not-offered.md` names it. */
  field: string;
  /** The rejected values, for the page. Ends the sentence "Refused: …". */
  refused: string;
  /** The remedy. Ends the message. */
  instead: string;
  /** Every place where the request uses it. */
  find: (request: ResponseRequest) => Hit[];
}

const offeredPlugins: readonly string[] = [...pluginOrder, ...routerPlugins];
const notOfferedPlugins = [...pluginFields.keys()].filter((id) => !offeredPlugins.includes(id));
const quote = (values: readonly string[]): string => values.map((value) => `\`${value}\``).join(', ');

/** All unsupported features. A test compares the page with this list. Remove the row of a feature that is added. */
export const unsupportedFeatures: readonly UnsupportedFeature[] = [
  {
    field: 'plugins[].id',
    refused: `${quote(notOfferedPlugins)}, unless it has \`enabled: false\``,
    instead: 'Leave the plugin out.',
    find: ({ plugins = [] }) =>
      plugins.flatMap(({ id, enabled }, index) =>
        enabled !== false && notOfferedPlugins.includes(id) ? [{ path: `plugins[${index}].id`, value: id }] : [],
      ),
  },
  {
    field: 'reasoning.mode',
    refused: '`pro`',
    instead: 'Leave it out, or name the pro model itself.',
    find: ({ reasoning }) => (reasoning?.mode === 'pro' ? [{ path: 'reasoning.mode', value: 'pro' }] : []),
  },
];

/**
 * Rejects a request that uses unsupported features, because a response without them would be misleading.
 *
 * @throws {GatewayError} `not_offered`, with every such use in `metadata.issues`
 * @see docs/reference/not-offered.md
 */
export function rejectUnsupportedFeatures(request: ResponseRequest): void {
  const hits: Issue[] = [];
  for (const { find, instead } of unsupportedFeatures) {
    for (const { path, value } of find(request)) {
      const message = `\`${path}\` with the value ${show(value)} is not offered by this build. ${instead}`;
      hits.push({ path, message });
    }
  }
  const issues = hits.slice(0, maxIssues);
  if (issues.length > 0) throw unsupportedRequest(issues);
}
