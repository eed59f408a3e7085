import { mistral } from './mistral.ts';

export { type RunningStrictProvider, startStrictProvider, type StrictProvider } from './strict-provider.ts';

/** The strict providers, by id. */
export const strictProviders = [mistral] as const;
