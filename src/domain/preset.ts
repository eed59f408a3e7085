/** `active`: requests may use it. The others only keep it. */
export const presetStatuses = ['active', 'disabled', 'archived'] as const;
export type PresetStatus = (typeof presetStatuses)[number];

/** A preset as requests use it: the designated version. */
export interface AppliedPreset {
  readonly slug: string;
  readonly version: number;
  readonly status: PresetStatus;
  /** The request fields as JSON. Parsed for each request that uses it, because requests are changed in place. */
  readonly fields: string;
}

/** The presets of a workspace by slug. */
export type PresetTable = ReadonlyMap<string, AppliedPreset>;

/** The preset that a request used. */
export type UsedPreset = Pick<AppliedPreset, 'slug' | 'version'> & {
  /** The `model` of the request, if it named the preset: `@preset/mine`. */
  requested?: string;
};
