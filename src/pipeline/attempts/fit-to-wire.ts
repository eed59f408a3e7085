import type { EndpointFacts } from '../../domain/endpoint.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { fitRequest } from './fit-request.ts';
import { leaveOutNative } from './leave-out-native.ts';
import { leaveOutWords } from './leave-out-words.ts';
import { checkSent } from './limit-reach.ts';
import { translateToolSearch } from './translate-tool-search.ts';
import { supports } from '../../routing/needs.ts';

/**
 * Fits a request to an endpoint and its wire: leaves out what only the format of the client can say, also words that the
 * gateway does not know, then what the endpoint does not accept.
 *
 * @param wire undefined: an intern sends the request, and the provider gets nothing that the gateway does not know
 * @param isAlias whether an alias named the model
 * @returns the request, the names of the omitted and changed fields, and the function that stands for the client's search
 * @throws {GatewayError} `invalid_request` if reasoning is turned off on a model that always reasons;
 *   `permission_denied` for what an intern cannot send
 */
export function fitToWire(
  given: ResponseRequest,
  endpoint: EndpointFacts,
  wire: string | undefined,
  isAlias: boolean,
): { request: ResponseRequest; changed: readonly string[]; search?: string } {
  if (wire === undefined) checkSent(given);
  const { request: searched, dropped: lost, search } = translateToolSearch(given, wire);
  const worded = leaveOutWords(searched, wire);
  const { request: own, dropped } = leaveOutNative(leaveOutBetas(worded.request, wire), wire, endpoint);
  // A client of another format does not know which models can turn their reasoning off.
  const { request, changed } = fitRequest(own, endpoint, isAlias || otherFormats.has(given.native?.format));
  const all = [...lost, ...worded.dropped, ...dropped, ...changed];
  const { anthropic_betas: betas } = given;
  if (betas && !own.anthropic_betas) all.push(`anthropic-beta (${betas.join(', ')})`);
  return search === undefined ? { request, changed: all } : { request, changed: all, search };
}

function leaveOutBetas(request: ResponseRequest, wire: string | undefined): ResponseRequest {
  if (!request.anthropic_betas || wire === 'anthropic-messages') return request;
  const { anthropic_betas: _, ...rest } = request;
  return rest;
}

/** Formats whose clients know the models of one vendor. */
const otherFormats: ReadonlySet<string | undefined> = new Set(['anthropic-messages', 'gemini']);

/** Whether the model may reason. If this is unknown for its endpoint, the request decides. */
export function mayReason(endpoint: EndpointFacts, { reasoning }: ResponseRequest): boolean {
  const isOn = reasoning !== undefined && reasoning !== null && reasoning.enabled !== false;
  return supports(endpoint, 'reasoning') ?? (isOn && reasoning.effort !== 'none' && reasoning.max_tokens !== 0);
}

/** Returns an endpoint whose provider runs no tools, so that the gateway runs those of an intern itself. */
export const withoutProviderTools = <Facts extends EndpointFacts>(endpoint: Facts): Facts => ({
  ...endpoint,
  carries: () => false,
});
