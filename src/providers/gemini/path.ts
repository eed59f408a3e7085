import type { Target } from '../wire.ts';

/** Returns the path of a request for a buffered or streamed response. */
export const writePath = ({ upstreamModel, stream }: Target): string =>
  `/${pathOf(upstreamModel)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;

/** Encodes a model name. A caller may have chosen it through a wildcard, and must not reach another path with it. */
export const pathOf = (model: string): string =>
  /^(?:models|tunedModels)\/[\w.-]+$/.test(model) ? model : `models/${encodeURIComponent(model)}`;
