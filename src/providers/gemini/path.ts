import type { Target } from '../wire.ts';

/** Returns the path of a request for a whole or streamed response. */
export const writePath = ({ upstreamModel, stream }: Target): string =>
  `/${pathOf(upstreamModel)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;

/** A caller may have chosen the name through a wildcard, and must not reach another path by it. */
const pathOf = (model: string): string =>
  /^(?:models|tunedModels)\/[\w.-]+$/.test(model) ? model : `models/${encodeURIComponent(model)}`;
