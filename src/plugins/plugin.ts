import type { Caller } from '../domain/caller.ts';
import type { Cancellation } from '../domain/cancellation.ts';
import type { InputItem } from '../domain/items.ts';
import type { RunPlugin } from '../domain/plugin.ts';
import type { RequestSettings } from '../domain/request.ts';
import type { StageRecord } from '../domain/router-metadata.ts';

/** The parts of a run that a plugin gets. */
export interface PluginRun {
  readonly generationId: string;
  readonly caller: Pick<Caller, 'workspaceId' | 'memberId' | 'keyHash'>;
  /** Its fields may be changed before the route is planned. */
  readonly request: RequestSettings;
  readonly input: {
    read(): readonly InputItem[];
    replace(items: InputItem[]): void;
  };
  /** The stages of `router_metadata.pipeline`. Only for something that changed or was checked. */
  readonly stages: { push(stage: StageRecord): unknown };
  /** Ends work that nothing waits for any more. The run does not wait for a plugin that ignores it. */
  /** Set if the gateway itself makes the request, to serve a caller's. */
  readonly parent?: object | undefined;
  readonly cancellation: Pick<Cancellation, 'reason' | 'deadlineAt' | 'signal' | 'add' | 'remove'>;
}

/** A plugin of the interface, by the `id` that requests use. */
export type Plugin = RunPlugin<PluginRun>;
