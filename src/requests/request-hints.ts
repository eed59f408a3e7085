import type { PresetTable } from '../domain/preset.ts';
import type { Reach } from '../domain/reach.ts';
import type { SavedPlugin } from '../domain/request-defaults.ts';
import type { ModulePlugins } from './module-plugins.ts';
import type { OpenSummary } from './responses/open-summaries.ts';

/** Facts about a request that are not in its body. */
export interface RequestHints {
  /** The session that a header names. The field `session_id` has precedence. */
  sessionId?: string | undefined;
  /** The model of a request that names none. Without it such a request is rejected. */
  defaultModel?: string | undefined;
  /** The plugins that the workspace saves for its requests. */
  savedPlugins?: readonly SavedPlugin[] | undefined;
  /** The operator's plugins. Absent: there are none. */
  modules?: ModulePlugins | undefined;
  /** The presets of the workspace. */
  presets?: PresetTable | undefined;
  /** Types of server tools that the workspace has disabled. */
  disabledTools?: readonly string[] | undefined;
  /** Maximum number of server-tool steps of a request with conditions. Absent: no limit is applied here. */
  maxSteps?: number | undefined;
  /** Opens the sealed summaries of the workspace. Absent: they stay as they are. */
  openSummary?: OpenSummary | undefined;
  /** The limits of the caller, if it is an intern. */
  reach?: Reach | undefined;
}
