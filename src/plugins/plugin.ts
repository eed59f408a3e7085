import type { Caller } from '../domain/caller.ts';
import type { Cancellation } from '../domain/cancellation.ts';
import type { InputItem } from '../domain/items.ts';
import type { RunPlugin } from '../domain/plugin.ts';
import type { RequestSettings } from '../domain/request.ts';
import type { StageRecord } from '../domain/router-metadata.ts';

export type { Chunk } from '../domain/chunks.ts';
export type { EndpointFacts } from '../domain/endpoint.ts';
export { GatewayError } from '../domain/errors.ts';
export type { InputItem, OutputItem, Tool } from '../domain/items.ts';
export type { PluginPart } from '../domain/plugin.ts';
export type { PluginSetting, RequestSettings, ResponseRequest } from '../domain/request.ts';
export type { RevisingSink } from '../domain/reviser.ts';
export type { StageRecord } from '../domain/router-metadata.ts';
export type { Sink } from '../domain/sink.ts';

/** The parts of a run that a plugin gets. */
export interface PluginRun {
  readonly generationId: string;
  readonly caller: Pick<Caller, 'workspaceId' | 'memberId' | 'keyHash' | 'reach'>;
  /** Its fields may be changed before the route is planned. */
  readonly request: RequestSettings;
  readonly input: {
    read(): readonly InputItem[];
    replace(items: InputItem[]): void;
  };
  /** The stages of `router_metadata.pipeline`. Only for something that changed or was checked. */
  readonly stages: { push(stage: StageRecord): unknown };
  /** Set if the gateway itself makes the request, to serve a caller's. */
  readonly parent?: object | undefined;
  /** Ends work that nothing waits for. The run does not wait for a plugin that ignores it. */
  readonly cancellation: Pick<Cancellation, 'reason' | 'deadlineAt' | 'signal' | 'add' | 'remove'>;
}

/** A plugin, by the `id` that requests use. */
export interface Plugin extends RunPlugin<PluginRun> {
  /**
   * JSON Schema of the other fields of its setting, `type: 'object'`. For the plugins of operators; the fields of the
   * built-in ones are in `requests/responses/schema/plugins.ts`. Absent: all fields are accepted.
   */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** Types a plugin where it is written. */
export const definePlugin = (plugin: Plugin): Plugin => plugin;
