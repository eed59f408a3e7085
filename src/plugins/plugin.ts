import type { Chunk } from '../domain/chunks.ts';
import type { PluginSetting, ResponseRequest } from '../domain/request.ts';
import type { StageRecord } from '../domain/router-metadata.ts';

/** What a plugin is handed of a run. */
export interface PluginRun {
  /** To change the input, put a new list in place of the old one. */
  readonly request: ResponseRequest;
  /** Leaves a stage in `router_metadata.pipeline`; only for what really changed or checked something. */
  record(stage: StageRecord): void;
}

/** Takes each batch of chunks, in order, and gives what goes on instead. */
export type ChunkReviser = (chunks: Chunk[]) => Chunk[];

/** A plugin of the interface, by the `id` that requests use. Sees a run only when the request asks for it. */
export interface Plugin {
  readonly id: string;
  /** @returns the reviser of this run; undefined when there is nothing to do */
  prepare(run: PluginRun, setting: PluginSetting): ChunkReviser | undefined;
}
