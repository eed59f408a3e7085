import { type Charge, type PlannedCharge, WEB_SEARCH } from '../../domain/charge.ts';
import { type Citable, CitingSink, type CitableSource } from '../../domain/cite-sources.ts';
import { currentTimeMs } from '../../domain/clock.ts';
import type { EndpointFacts } from '../../domain/endpoint.ts';
import { GatewayError, invalidRequest } from '../../domain/errors.ts';
import { type InputItem, searchTypes, type Tool } from '../../domain/items.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import { canSearchNatively } from '../../domain/native-search.ts';
import type { PluginPart } from '../../domain/plugin.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { RevisingSink } from '../../domain/reviser.ts';
import { stripUrls } from '../../domain/reach.ts';
import { ServiceError } from '../../domain/service.ts';
import type { Chunk } from '../../domain/chunks.ts';
import type { Sink } from '../../domain/sink.ts';
import { type FindSearchEngine, MAX_QUERY_CHARACTERS, type WebSearchEngine } from '../../domain/web-search.ts';
import type { Plugin, PluginRun } from '../plugin.ts';
import { readWebSettings, type WebSettings } from './read-web-settings.ts';
import { writeResults } from './write-results.ts';

/** The ports of the plugin. */
export interface WebPorts {
  readonly findSearchEngine: FindSearchEngine;
  /** Reserves the price of work. @throws {GatewayError} if it exceeds a spending limit */
  readonly charge: (run: PluginRun, planned: PlannedCharge) => MaybePromise<Charge>;
}

/** Maximum characters of the text of one result. */
const MAX_CHARACTERS = 3000;

/**
 * Searches the web once before the model is called, and lets the model read the results. If the endpoint has a search
 * of its own and the request names no other engine, the provider searches.
 *
 * @see docs/reference/plugins.md#web
 */
export const createWeb = (ports: WebPorts): Plugin => ({
  id: 'web',
  prepare(run, setting = { id: 'web' }) {
    const settings = readWebSettings(run.request, setting);
    const { engine } = settings;
    if (engine !== undefined && engine !== 'native' && !ports.findSearchEngine(engine)) {
      const message = `The search engine ${engine} is not configured: set tools.web_search.engines.${engine}.`;
      throw invalidRequest([{ path: `plugins[${run.request.plugins?.indexOf(setting) ?? 0}].engine`, message }]);
    }
    const query = stripUrls(run.caller.reach, findQuery(run.input.read())).trim();
    return new WebPart(run, settings, ports, query);
  },
});

/** The work of the plugin in one run. */
class WebPart implements PluginPart<PluginRun> {
  private readonly run: PluginRun;
  private readonly settings: WebSettings;
  private readonly ports: WebPorts;
  private readonly query: string;
  /** The message with the results. Set at the first endpoint that needs it. */
  private message: Promise<InputItem> | undefined;
  /** Whether the metadata has the stage of a search by the provider. */
  private isNativeNoted = false;
  private found: readonly CitableSource[] | undefined;
  /** Whether the results are part of the attempt in progress. */
  private isCiting = false;
  private readonly citable: Citable = { sources: () => (this.isCiting ? this.found : undefined), named: new Set() };

  constructor(run: PluginRun, settings: WebSettings, ports: WebPorts, query: string) {
    this.run = run;
    this.settings = settings;
    this.ports = ports;
    this.query = query;
  }

  adapt(request: ResponseRequest, endpoint: EndpointFacts): MaybePromise<ResponseRequest> {
    this.isCiting = false;
    if (this.searchesAt(endpoint)) return this.addTool(request);
    if (this.query === '') return request; // there is no text to search for
    this.message ??= this.search(this.getEngine(endpoint));
    return this.message.then((message) => {
      this.isCiting = true;
      return { ...request, input: insert(request.input, message) };
    });
  }

  open(_run: PluginRun, out: Sink<Chunk>): RevisingSink {
    return new CitingSink(this.citable, out);
  }

  /** Whether the provider of the endpoint searches. */
  private searchesAt(endpoint: EndpointFacts): boolean {
    const { engine } = this.settings;
    return engine === undefined ? canSearchNatively(endpoint, this.settings) : engine === 'native';
  }

  private addTool(request: ResponseRequest): ResponseRequest {
    if (!this.isNativeNoted) {
      this.isNativeNoted = true;
      this.run.stages.push({
        type: 'plugin',
        name: 'web-search',
        summary: 'The provider may search.',
        data: { engine: 'native' },
      });
    }
    const tools = request.tools ?? [];
    if (tools.some(({ type }) => searchTypes.has(type))) return request;
    return { ...request, tools: [...tools, this.settings.nativeTool as unknown as Tool] }; // it has the tool's shape
  }

  private getEngine({ model, provider }: EndpointFacts): WebSearchEngine {
    const { engine } = this.settings;
    const found = this.ports.findSearchEngine(engine === 'native' ? undefined : engine);
    if (found) return found;
    const message = `${model} at ${provider.name} has no web search of its own, and no search engine is configured: set tools.web_search.engines.exa.`;
    throw new GatewayError('invalid_request', message);
  }

  /** @returns the message for the model; a failed search is one, too */
  private async search(engine: WebSearchEngine): Promise<InputItem> {
    const { run, settings, query } = this;
    const { name, priceNanoUsd: unitNanoUsd, maxResults } = engine;
    const charge = await this.ports.charge(run, { name: WEB_SEARCH, service: name, unitNanoUsd, maxCount: 1 });
    const { include, exclude, mode } = settings;
    const count = Math.min(settings.maxResults, maxResults);
    let failure: ServiceError | undefined;
    try {
      const order = { query, count, mode, include, exclude, maxCharacters: MAX_CHARACTERS };
      this.found = await engine.search(order, run.cancellation.signal);
      charge.settle(1);
    } catch (error) {
      charge.settle(0);
      if (!(error instanceof ServiceError)) throw error;
      failure = error;
    }
    const results = this.found;
    run.stages.push({
      type: 'plugin',
      name: 'web-search',
      summary: failure
        ? 'The web search failed; the model replies without it.'
        : `${results!.length} ${results!.length === 1 ? 'result' : 'results'}.`,
      data: {
        engine: name,
        query,
        result_count: results?.length ?? 0,
        ...(failure && { error: failure.message }),
      },
      cost_usd: charge.usd,
    });
    const date = new Date(currentTimeMs()).toISOString().slice(0, 10);
    const text = writeResults({ results, prompt: settings.search_prompt, date });
    return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] };
  }
}

/** Returns the text of the last user message that has one, shortened. */
function findQuery(items: readonly InputItem[]): string {
  for (let at = items.length - 1; at >= 0; at--) {
    const item = items[at]!;
    if (!isUserMessage(item)) continue;
    const text = readText(item.content).replace(/\s+/g, ' ').trim();
    if (text !== '') return text.slice(0, MAX_QUERY_CHARACTERS).toWellFormed();
  }
  return '';
}

type Message = Extract<InputItem, { type: 'message' }>;

const isUserMessage = (item: InputItem): item is Message =>
  item.type === 'message' && (item as Message).role === 'user';

/** Reads no more text than a query can have, besides white space. */
function readText(content: unknown): string {
  const max = 4 * MAX_QUERY_CHARACTERS;
  if (typeof content === 'string') return content.slice(0, max);
  if (!Array.isArray(content)) return '';
  let text = '';
  for (const part of content as ({ text?: unknown } | null)[]) {
    if (typeof part?.text === 'string') text += ` ${part.text.slice(0, max)}`;
    if (text.length >= max) break;
  }
  return text;
}

/** Inserts a message before the last user message. */
function insert(items: readonly InputItem[], message: InputItem): InputItem[] {
  const at = Math.max(items.findLastIndex(isUserMessage), 0);
  return [...items.slice(0, at), message, ...items.slice(at)];
}
