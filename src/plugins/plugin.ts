import type { InputItem } from '../domain/items.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { PluginSetting, RequestSettings } from '../domain/request.ts';
import type { Reviser } from '../domain/reviser.ts';
import type { StageRecord } from '../domain/router-metadata.ts';

/** What a plugin is handed of a run. */
export interface PluginRun {
  readonly request: RequestSettings;
  readonly input: {
    read(): readonly InputItem[];
    replace(items: InputItem[]): void;
  };
  /** For `router_metadata.pipeline`: only what really changed or checked something leaves one. */
  readonly stages: { push(stage: StageRecord): unknown };
}

/** A plugin of the interface, by the `id` that requests use. Sees a run only when the request asks for it. */
export interface Plugin {
  readonly id: string;
  /** @returns the reviser of this run; undefined: its output stays as it is */
  prepare(run: PluginRun, setting: PluginSetting): MaybePromise<Reviser<PluginRun> | undefined>;
}
