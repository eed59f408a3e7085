import type { RequestSettings } from './request.ts';

/** Type of the server tool that runs a panel. */
export const FUSION_TOOL = 'router:fusion';

/** The presets that a request can name. `quality` is for requests that name none. */
export const fusionPresets = ['general-high', 'general-budget', 'general-fast'] as const;
export type FusionPreset = (typeof fusionPresets)[number];
export type PanelName = 'quality' | FusionPreset;

/** The models of a preset. */
export interface FusionPanel {
  /** 1 to 8 slugs. */
  readonly models: readonly string[];
  /** Writes the response of a router slug, and compares the responses. */
  readonly model: string;
}

/** The operator's settings of fusion. */
export interface FusionSettings {
  readonly panels: Readonly<Record<PanelName, FusionPanel>>;
  /** Time limit of each model of the panel, and of the analysis. */
  readonly modelTimeoutMs: number;
}

/** The slugs that run a panel, with any suffix. */
const fusionSlug = /^router\/fusion(?:-flash)?(?=:|$)/i;

/** @returns the first slug of a request that runs a panel, in lower case and without suffix; undefined: there is none */
export function findFusionSlug({ model, models }: Pick<RequestSettings, 'model' | 'models'>): string | undefined {
  return readFusionSlug(model) ?? models?.map(readFusionSlug).find((slug) => slug !== undefined);
}

const readFusionSlug = (slug: string | undefined): string | undefined =>
  slug === undefined ? undefined : fusionSlug.exec(slug)?.[0].toLowerCase();

/** The preset that a slug implies. */
export const presetOfSlug = (slug: string | undefined): FusionPreset | undefined =>
  slug === 'router/fusion-flash' ? 'general-fast' : undefined;
