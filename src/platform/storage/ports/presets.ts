import type { PresetStatus } from '../../../domain/preset.ts';
import type { Listed, Page } from './page.ts';

export interface PresetRecord {
  id: string;
  workspaceId: string;
  /** Unique in its workspace. */
  slug: string;
  name: string;
  description: string | null;
  status: PresetStatus;
  /** Null: it has always been active. */
  statusUpdatedAtMs: number | null;
  /** The version that requests use. */
  designatedVersionId: string;
  /** Null: its key acts as the organization, or the operator created it. */
  creatorMemberId: string | null;
  createdAtMs: number;
  updatedAtMs: number;
}

/** A version of a preset. It never changes. */
export interface PresetVersionRecord {
  id: string;
  presetId: string;
  /** From 1. */
  version: number;
  /** Request fields as JSON, without `instructions`. */
  config: string;
  /** `instructions` of requests. */
  systemPrompt: string | null;
  /** The member, the hash of a key that acts as the organization, or `operator`. */
  creatorId: string;
  createdAtMs: number;
}

/** The designated version of a preset, without its settings. */
export interface DesignatedPreset {
  workspaceId: string;
  slug: string;
  status: PresetStatus;
  versionId: string;
  version: number;
}

export type PresetSettings = Pick<PresetVersionRecord, 'id' | 'config' | 'systemPrompt'>;

/** Presets as the gateway uses them. */
export interface AccessPresets {
  listDesignatedPresets(): Promise<DesignatedPreset[]>;
  /** Reads versions by id, in any order. Omits unknown ones. */
  readPresetSettings(versionIds: readonly string[]): Promise<PresetSettings[]>;
}

export interface PresetReader {
  /** Lists the presets of a workspace, the oldest first. */
  listPresets(workspaceId: string, page: Page): Promise<Listed<PresetRecord>>;
  findPreset(workspaceId: string, slug: string): Promise<PresetRecord | undefined>;
  /** Lists the newest first. */
  listPresetVersions(presetId: string, page: Page): Promise<Listed<PresetVersionRecord>>;
  findPresetVersion(presetId: string, version: number): Promise<PresetVersionRecord | undefined>;
  /** Finds a version by its own id. */
  findDesignatedVersion(versionId: string): Promise<PresetVersionRecord | undefined>;
}

export interface PresetWriter extends PresetReader {
  /** Creates or replaces, by id. */
  savePreset(preset: PresetRecord): Promise<void>;
  addPresetVersion(version: PresetVersionRecord): Promise<void>;
  /** Also deletes its versions. */
  deletePreset(id: string): Promise<void>;
}
