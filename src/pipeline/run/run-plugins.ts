import type { EndpointFacts } from '../../domain/endpoint.ts';
import type { GatewayError } from '../../domain/errors.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { PluginPart, RunPlugin } from '../../domain/plugin.ts';
import { findSetting, type PluginSetting, type ResponseRequest } from '../../domain/request.ts';
import { mayUsePlugin, refuseUse } from '../../domain/reach.ts';
import type { Reviser } from '../../domain/reviser.ts';
import { copyError } from '../copy-error.ts';
import type { Run } from './run.ts';
import { untilCancelled } from '../../domain/until-cancelled.ts';

/** The part of one plugin in a run. */
export interface ActivePlugin {
  /** Its place in the order of all plugins. */
  readonly place: number;
  readonly part: PluginPart<Run>;
}

/**
 * Prepares the plugins that the request names, in their order. Only called if it names any.
 *
 * @returns a promise only if a plugin returns one
 * @throws {GatewayError} of the plugin that rejects the request
 */
export const preparePlugins = (run: Run, plugins: readonly RunPlugin<Run>[]): MaybePromise<void> =>
  prepareFrom(run, plugins, 0, ({ id }) => {
    const setting = findSetting(run.request, id);
    if (setting && !mayUsePlugin(run.caller.reach, id)) {
      throw refuseUse(`plugins[${run.request.plugins!.lastIndexOf(setting)}].id`, id);
    }
    return setting;
  });

/**
 * Prepares the plugins that endpoints of the plan need, although the request does not name them.
 *
 * @param ids `Plan.plugins`
 */
export const joinPlugins = (
  run: Run,
  plugins: readonly RunPlugin<Run>[],
  ids: readonly string[],
): MaybePromise<void> => {
  const named = run.request.plugins;
  return prepareFrom(run, plugins, 0, ({ id, isEnforced }) => {
    if (!ids.includes(id)) return undefined;
    const isSettled = isEnforced ? findSetting(run.request, id) : named?.some((setting) => setting.id === id);
    return isSettled ? undefined : 'joins';
  });
};

type Choose = (plugin: RunPlugin<Run>) => PluginSetting | 'joins' | undefined;

function prepareFrom(run: Run, plugins: readonly RunPlugin<Run>[], from: number, choose: Choose): MaybePromise<void> {
  for (let place = from; place < plugins.length; place++) {
    const plugin = plugins[place]!;
    const chosen = choose(plugin);
    if (chosen === undefined) continue;
    const prepared = plugin.prepare(run, chosen === 'joins' ? undefined : chosen);
    if (prepared instanceof Promise) {
      return untilCancelled(prepared, run.cancellation).then((part) => {
        addPart(run, place, part);
        return prepareFrom(run, plugins, place + 1, choose);
      });
    }
    addPart(run, place, prepared);
  }
}

function addPart(run: Run, place: number, part: PluginPart<Run> | undefined): void {
  if (!part) return;
  run.activePlugins ??= [];
  const { activePlugins } = run;
  const at = activePlugins.findIndex((other) => other.place > place);
  activePlugins.splice(at === -1 ? activePlugins.length : at, 0, { place, part });
}

const none: readonly Reviser<Run>[] = [];

/**
 * The revisers of a run, in order: those of its plugins, that of its tools, its guard, and the one that seals its summary.
 *
 * @param guard sees the output with all that the others have added
 * @param sealing sees the output that the guard has passed
 */
export function listRevisers(
  { activePlugins, toolLoop }: Run,
  guard?: Reviser<Run>,
  sealing?: Reviser<Run>,
): readonly Reviser<Run>[] {
  if (!activePlugins && !toolLoop && !guard && !sealing) return none;
  const ofPlugins = activePlugins?.flatMap(({ part }) => (part.open ? [part as Reviser<Run>] : [])) ?? []; // it has `open`
  if (toolLoop) ofPlugins.push(toolLoop.reviser);
  if (guard) ofPlugins.push(guard);
  if (sealing) ofPlugins.push(sealing);
  return ofPlugins;
}

/**
 * Lets the plugins of a run change the request for an endpoint, in order.
 *
 * @returns a promise only if a plugin returns one
 * @throws {GatewayError} of the plugin that excludes the endpoint
 */
export function adaptRequest(
  run: Pick<Run, 'cancellation'>,
  active: readonly ActivePlugin[],
  request: ResponseRequest,
  endpoint: EndpointFacts,
): MaybePromise<ResponseRequest> {
  let adapted = request;
  for (let at = 0; at < active.length; at++) {
    const next = active[at]!.part.adapt?.(adapted, endpoint);
    if (next instanceof Promise) {
      return untilCancelled(next, run.cancellation).then((settled) =>
        adaptRequest(run, active.slice(at + 1), settled, endpoint),
      );
    }
    if (next) adapted = next;
  }
  return adapted;
}

/** Adds what the plugins of a failed run know to its error. */
export function explainByPlugins({ activePlugins }: Run, error: GatewayError): GatewayError {
  let metadata: Record<string, unknown> | undefined;
  for (const { part } of activePlugins ?? []) {
    const fields = part.describeFailure?.(error);
    if (fields) metadata = { ...metadata, ...fields };
  }
  return metadata ? copyError(error, error.message, { metadata: { ...error.metadata, ...metadata } }) : error;
}
