import type { EndpointFacts } from './endpoint.ts';

/** The plugin acts without being named on endpoints with at most this context. */
const SMALL_CONTEXT = 8_192;

export const isSmallContext = ({ contextLength }: EndpointFacts): boolean =>
  contextLength !== undefined && contextLength <= SMALL_CONTEXT;

/** Whether inputs can be shortened for an endpoint: its context is known, and it does not generate only images. */
export const mayShorten = ({ contextLength, maxPromptTokens, capabilities: { output } }: EndpointFacts): boolean =>
  (contextLength !== undefined || maxPromptTokens !== undefined) && !(output?.length === 1 && output[0] === 'image');

/** Advice for a caller whose input does not fit. */
export const tooLongAdvice = 'Shorten it, or turn on the plugin `context-compression`, which removes its middle.';
