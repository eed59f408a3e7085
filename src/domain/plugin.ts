import type { EndpointFacts } from './endpoint.ts';
import type { GatewayError } from './errors.ts';
import type { MaybePromise } from './maybe-promise.ts';
import type { PluginSetting, ResponseRequest } from './request.ts';
import type { Reviser } from './reviser.ts';

/**
 * The plugins of this build that act on runs, in the order of their effect. `plugins/index.ts` creates them. A request
 * may name each of them.
 *
 * @see docs/reference/plugins.md#order
 */
export const pluginOrder = [
  'fusion',
  'file-parser',
  'moderation',
  'web',
  'web-fetch',
  'context-compression',
  'response-healing',
] as const;
export type PluginId = (typeof pluginOrder)[number];

/** The plugins that only configure a router. `routing/routers/` reads them. */
export const routerPlugins = ['auto-router', 'auto-beta-router', 'pareto-router'] as const;

/**
 * A plugin. It is created once, when the gateway starts, and acts on the runs that need it.
 *
 * @see docs/reference/plugins.md#how-a-plugin-runs
 */
export interface RunPlugin<Run> {
  readonly id: string;
  /** Whether a request cannot turn it off where an endpoint needs it. */
  readonly isEnforced?: true;
  /**
   * Called once for a run: before its route is planned if the request names the plugin, or after it if only an endpoint
   * of the plan needs the plugin (`Plan.plugins`). It may change the request and its input.
   *
   * @param setting of the request; undefined if the request does not name the plugin
   * @returns its part in the run; undefined: it has nothing else to do
   * @throws {GatewayError} to reject the request
   */
  prepare(run: Run, setting: PluginSetting | undefined): MaybePromise<PluginPart<Run> | undefined>;
}

/** The functions of a plugin in one run after `prepare`. `open` revises the output of each attempt. */
export interface PluginPart<Run> extends Partial<Reviser<Run>> {
  /**
   * Changes the request of an attempt for its endpoint. Called for each attempt, so for each endpoint, key, retry and
   * step, with the input so far. Nothing of the changes remains for the next attempt.
   *
   * @param request a copy may be returned; must not be changed in place
   * @throws {GatewayError} to skip the endpoint: `invalid_request` tries the next one, `content_policy` and
   *   `context_length_exceeded` the next model, `permission_denied` none
   */
  adapt?(request: ResponseRequest, endpoint: EndpointFacts): MaybePromise<ResponseRequest>;
  /** Returns fields for `error.metadata` of a run that fails. */
  describeFailure?(error: GatewayError): Readonly<Record<string, unknown>> | undefined;
}
