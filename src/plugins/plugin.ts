import type { InputItem } from '../domain/items.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { PluginSetting, RequestSettings } from '../domain/request.ts';
import type { Reviser } from '../domain/reviser.ts';
import type { StageRecord } from '../domain/router-metadata.ts';

/** The parts of a run that a plugin gets. */
export interface PluginRun {
  readonly request: RequestSettings;
  readonly input: {
    read(): readonly InputItem[];
    replace(items: InputItem[]): void;
  };
  /** The stages of `router_metadata.pipeline`. Only for something that changed or was checked. */
  readonly stages: { push(stage: StageRecord): unknown };
}

/** A plugin of the interface, by the `id` that requests use. It runs only if the request asks for it. */
export interface Plugin {
  readonly id: string;
  /** @returns the reviser of this run; undefined: the output stays unchanged */
  prepare(run: PluginRun, setting: PluginSetting): MaybePromise<Reviser<PluginRun> | undefined>;
}
