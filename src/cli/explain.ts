import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { readDefaults } from '../access/access.ts';
import { applyGuardrails, type KeyIdentity } from '../access/apply-guardrails.ts';
import { DEFAULT_WORKSPACE } from '../access/bootstrap.ts';
import { PresetMemory } from '../access/load-presets.ts';
import { loadPluginModules } from '../compose/load-plugin-modules.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Caller } from '../domain/caller.ts';
import type { EndpointFacts } from '../domain/endpoint.ts';
import { GatewayError } from '../domain/errors.ts';
import { writeErrorEnvelope } from '../http/error-envelope.ts';
import { readJson } from '../http/read-json.ts';
import { writePerToken } from '../metering/price.ts';
import type { WorkspaceRecord } from '../platform/storage/ports/workspaces.ts';
import type { Storage } from '../platform/storage/storage.ts';
import type { Endpoint } from '../providers/provider.ts';
import { checkMeaning } from '../requests/responses/check-meaning.ts';
import { joinLateTools } from '../requests/responses/late-tools.ts';
import { rejectDisabledTools } from '../requests/responses/disabled-tools.ts';
import type { RenameFields } from '../requests/rename-fields.ts';
import { rejectUnsupportedFeatures } from '../requests/responses/unsupported-features.ts';
import { type Plan, planRoute, type RoutingCaller, type RoutingContext } from '../routing/plan-route.ts';
import { resolveKey } from './resolve-key.ts';
import { planRetrievalBody, type PlanBody } from './plan-retrieval-body.ts';
import { describeFit, type RequestFit } from './describe-fit.ts';
import { describePanel } from './describe-panel.ts';
import { describeTools, rejectUnknownTools } from './describe-tools.ts';
import { findStoreFile } from './describe-store.ts';
import { withReadOnlyStore } from './open-store.ts';
import { readIssues } from './read-issues.ts';
import { findNames, readTextBody, type TextPath } from './read-text-body.ts';
import { readRoutingContext } from './read-routing-context.ts';
import { resolveWorkspaceId } from './resolve-workspace-id.ts';
import { type Column, drawTable } from './table.ts';
import { CommandError, colorize, readMessage, type Terminal } from './terminal.ts';

export interface ExplainOptions {
  /** The model of a short request. */
  model?: string;
  /** Instead of the model: file with the body of the request; `-` for the standard input. */
  body?: string;
  /** The path of the request, after `/api/v1/`. Absent: `responses`. */
  path?: TextPath | 'embeddings' | 'rerank';
  /** Name, slug or id of the workspace of the caller. Its defaults and its guardrail apply, so the store is read. */
  workspace?: string;
  /** The key of the caller, by hash or name. All its guardrails and the defaults of its workspace apply. */
  key?: string;
  json?: boolean;
}

/** Number of draws from which the shares are computed. */
const DRAWS = 2_000;

/**
 * Prints the endpoints that a request would use, in order, and why the others are excluded. Sends nothing. Health,
 * sessions and the ledger's rankings are those of a gateway that has served no request.
 *
 * @returns the exit code: 1 if the request would be rejected
 */
export async function explain(terminal: Terminal, loaded: LoadedConfig, options: ExplainOptions): Promise<number> {
  if ((options.model === undefined) === (options.body === undefined)) {
    const example = 'as in "headgate explain openai/gpt-5-mini"';
    throw new CommandError(`Give either a model, ${example}, or the body of a request with --body FILE.`);
  }
  const { stdout, stderr } = terminal;
  const say = (message: string): void => void stderr.write(`headgate: ${message}\n`);
  const { asker, stored } = await findAsker(loaded, options, say);
  const routingContext = readRoutingContext(loaded, say, stored);
  let refused: Plan<Endpoint> | undefined;
  let rename: RenameFields = (text) => text;
  const { path = 'responses' } = options;
  try {
    const body = options.model === undefined ? readBody(terminal, options.body!) : writeShortBody(path, options.model);
    if (path === 'embeddings' || path === 'rerank') {
      const planBody = planRetrievalBody(path, body, loaded.config, asker, routingContext);
      const plan = planBody((partial) => {
        refused = partial;
      });
      show(terminal, { plan, shares: countFirsts(planBody) }, options.json);
      return 0;
    }
    const given = asker.defaults?.textModel;
    rename = findNames(path, body);
    const read = readTextBody(path, body, {
      defaultModel: given,
      savedPlugins: asker.defaults?.plugins,
      modules: (await loadPluginModules(loaded.config.plugins.modules, () => {})).settings, // no plugin runs
      presets: asker.presets,
    });
    const { request, hasDefaultModel } = read;
    const defaultModel = hasDefaultModel ? given : undefined;
    if (defaultModel !== undefined && !options.json) {
      stdout.write(`The request names no model. It uses the default_text_model of its workspace, ${defaultModel}.\n`);
    }
    checkMeaning(request);
    if (asker.defaults?.disabledTools) rejectDisabledTools(request, asker.defaults.disabledTools);
    rejectUnsupportedFeatures(request);
    joinLateTools(read);
    await rejectUnknownTools(request, loaded.config.tools.modules);
    const routed = planRoute(request, asker, routingContext, {}, (partial) => {
      refused = partial;
    });
    const { planned, fits, rejection } = leaveRejected(routed, (endpoint) => describeFit(request, endpoint));
    if (rejection) {
      refused = planned;
      throw rejection;
    }
    const { max_steps: maxSteps } = loaded.config.tools;
    const { panels } = routingContext.routers.fusion;
    const hasRoute = (model: string) => isRoutable(model, asker, routingContext);
    const stages = [
      ...planned.stages,
      ...describePanel(request, { panels, hasRoute }),
      ...describeTools(request, maxSteps),
    ];
    const plan = { ...planned, stages };
    const rejected = new Set(planned.excluded.map(({ endpoint }) => endpoint.id));
    const shares = countFirsts(() => planRoute(request, asker, routingContext), rejected);
    show(terminal, { plan, shares, fits, defaultModel, rename }, options.json);
    return 0;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { body } = writeErrorEnvelope(error);
    if (options.json) stdout.write(`${rename(JSON.stringify(body, undefined, 2))}\n`);
    else {
      stdout.write(`${error.status}  ${rename(readIssues(error)).replaceAll('\n', '\n     ')}\n`);
      if (refused) printExcluded(terminal, refused);
    }
    return 1;
  }
}

function isRoutable(model: string, asker: RoutingCaller, routingContext: RoutingContext<Endpoint>): boolean {
  try {
    return planRoute({ model, input: [] }, asker, routingContext).endpoints.length > 0;
  } catch {
    return false;
  }
}

/** The caller, and the stored workspaces that `readRoutingContext` needs. */
interface Found {
  asker: RoutingCaller & Pick<Caller, 'presets'>;
  stored: readonly WorkspaceRecord[];
}

/** @throws {CommandError} if no key or workspace matches, or several do */
async function findAsker(
  loaded: LoadedConfig,
  { key, workspace }: ExplainOptions,
  warn: (message: string) => void,
): Promise<Found> {
  if (key !== undefined && workspace !== undefined) {
    throw new CommandError('Use either --key or --workspace: a key already has a workspace.');
  }
  if (key !== undefined) return findKeyholder(loaded, key);
  if (workspace !== undefined) return findWorkspaceAsker(loaded, workspace, warn);
  return { asker: { workspaceId: '' }, stored: [] };
}

async function findKeyholder(loaded: LoadedConfig, wanted: string): Promise<Found> {
  const found = await withReadOnlyStore(loaded.config, async (storage) => {
    const key = resolveKey(await storage.access.listKeys(), wanted);
    if (key.kind === 'management')
      throw new CommandError(`"${key.name}" is a management key, which requests no models.`);
    return readHome(loaded, storage, key);
  });
  if (!found) throw new CommandError(`There is no store at ${findStoreFile(loaded.config)} yet, so there is no key.`);
  return found;
}

/** Returns a caller of the workspace without its own guardrail. Warns if the store cannot be read. */
async function findWorkspaceAsker(
  loaded: LoadedConfig,
  wanted: string,
  warn: (message: string) => void,
): Promise<Found> {
  const { bootstrap, providers } = loaded.config;
  const inFile = bootstrap.workspaces.find(({ id, name }) => id === wanted || name === wanted);
  const ofFile = { asker: { workspaceId: resolveWorkspaceId(loaded, wanted) }, stored: [] };
  const isKnown = inFile || wanted === DEFAULT_WORKSPACE || providers.some((provider) => provider.workspace === wanted);
  let found: Found | undefined;
  try {
    found = await withReadOnlyStore(loaded.config, async (storage) => {
      for (const named of [inFile?.id, inFile?.name, wanted]) {
        const home = named === undefined ? undefined : await findStored(storage, named);
        if (home) return readHome(loaded, storage, { hash: '', workspaceId: home.id, memberId: null });
      }
      return undefined;
    });
  } catch (error) {
    warn(`the settings of the workspace are ignored, because the store cannot be read: ${readMessage(error)}`);
    return ofFile;
  }
  if (!found && !isKnown) throw new CommandError(`There is no workspace "${wanted}"; see "headgate workspaces list".`);
  return found ?? ofFile;
}

/** Finds a workspace by id, slug or name. */
async function findStored({ access, management }: Storage, wanted: string): Promise<{ id: string } | undefined> {
  const found = await management.findWorkspace(wanted);
  return found ?? (await access.listWorkspaces()).find(({ name }) => name === wanted);
}

async function readHome(loaded: LoadedConfig, { access }: Storage, holder: KeyIdentity): Promise<Found> {
  const { workspaceId } = holder;
  const stored = await access.listWorkspaces();
  const { guardrails } = applyGuardrails(await access.listAppliedGuardrails())(holder);
  const settings = (await access.listAppliedSettings()).find((one) => one.workspaceId === workspaceId);
  const defaults = settings && readDefaults(settings);
  const presets = (await new PresetMemory().load(access)).get(workspaceId);
  const asker = { workspaceId: resolveWorkspaceId(loaded, workspaceId, stored), guardrails, defaults, presets };
  return { asker, stored };
}

type Path = NonNullable<ExplainOptions['path']>;

/** The fields that each path requires beside the model. */
const shortBodies: Readonly<Record<Path, object>> = {
  responses: { input: 'Hello' },
  'chat/completions': { messages: [{ role: 'user', content: 'Hello' }] },
  completions: { prompt: 'Hello' },
  messages: { max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] },
  embeddings: { input: 'Hello' },
  rerank: { query: 'Hello', documents: ['Hello'] },
};

const writeShortBody = (path: Path, model: string): object => ({ model, ...shortBodies[path] });

function readBody({ cwd }: Terminal, file: string): unknown {
  try {
    return readJson(readFileSync(file === '-' ? 0 : resolve(cwd, file)));
  } catch (error) {
    throw new CommandError(`--body ${file}: ${readMessage(error)}`, { cause: error });
  }
}

/**
 * Moves the endpoints that cannot get the request to the excluded ones.
 *
 * @returns `rejection`: the last error, if no endpoint is left
 */
function leaveRejected(plan: Plan<Endpoint>, describe: (endpoint: Endpoint) => RequestFit) {
  const described = plan.endpoints.map((endpoint) => ({ endpoint, fit: describe(endpoint) }));
  const kept = described.filter(({ fit }) => !fit.rejection);
  const rejected = described.flatMap(({ endpoint, fit: { rejection } }) =>
    rejection ? [{ endpoint, code: 'rejected', reason: rejection.message }] : [],
  );
  return {
    planned: {
      ...plan,
      endpoints: kept.map(({ endpoint }) => endpoint),
      excluded: [...rejected, ...plan.excluded],
    },
    fits: kept.map(({ fit }) => fit),
    rejection: kept.length === 0 ? described.at(-1)?.fit.rejection : undefined,
  };
}

/**
 * Returns how often each endpoint comes first, in percent of many draws.
 *
 * @param rejected ids of endpoints that cannot get the request
 */
function countFirsts(planBody: PlanBody, rejected: ReadonlySet<string> = new Set()): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (let draw = 0; draw < DRAWS; draw++) {
    const first = planBody().endpoints.find(({ id }) => !rejected.has(id));
    if (first) counts.set(first.id, (counts.get(first.id) ?? 0) + 1);
  }
  return new Map([...counts].map(([id, count]) => [id, (100 * count) / DRAWS]));
}

interface Explanation {
  plan: Plan<Endpoint>;
  /** Endpoint id → how often it comes first, in percent. */
  shares: ReadonlyMap<string, number>;
  /** How the request is fitted to each endpoint of the plan. Absent for embeddings and reranks. */
  fits?: readonly RequestFit[];
  defaultModel?: string | undefined;
  /** Names fields as the body does. */
  rename?: RenameFields;
}

function show(terminal: Terminal, explanation: Explanation, isJson = false): void {
  if (!isJson) print(terminal, explanation);
  else terminal.stdout.write(`${JSON.stringify(writeJson(explanation), undefined, 2)}\n`);
}

function print(terminal: Terminal, { plan, shares, fits = [], rename = (text) => text }: Explanation): void {
  const { stdout } = terminal;
  stdout.write(`${colorize(terminal, 'bold', plan.requested)}  strategy ${plan.strategy}\n`);
  for (const { name, data = {} } of plan.stages) {
    const fields = Object.entries(data).map(([key, value]) => `${key} ${[value].flat().join(', ') || '–'}`);
    stdout.write(`${name}: ${fields.join('; ')}\n`);
  }
  if (plan.usualSort !== undefined) stdout.write(`sorted by ${plan.usualSort}, the default of its workspace\n`);
  if (plan.routingStrategy !== undefined && plan.routingStrategy !== 'price') {
    stdout.write(`endpoints ordered by the strategy ${plan.routingStrategy}\n`);
  }
  const hasWeights = plan.endpoints.some(({ weight }) => weight !== 1);
  const rows = plan.endpoints.map((endpoint, index) => [
    String(index + 1),
    endpoint.model,
    endpoint.tag,
    ...writePrices(endpoint),
    ...(hasWeights ? [String(endpoint.weight)] : []),
    writeShare(shares.get(endpoint.id) ?? 0),
  ]);
  stdout.write(`\n${drawTable(terminal, listColumns(hasWeights), rows)}`);
  const notes = [
    plan.endpoints.some(({ pricing }) => pricing?.above) ? 'A price with + is higher for long prompts.' : [],
    [...shares.values()].some((share) => share < 100)
      ? 'FIRST is how often an endpoint comes first. The order above is one draw. Each request gets a new draw.'
      : [],
  ].flat();
  if (notes.length > 0) stdout.write(`\n${notes.join('\n')}\n`);
  printChanges(terminal, plan, fits, rename);
  printExcluded(terminal, plan);
}

function printChanges(
  terminal: Terminal,
  { endpoints }: Plan<Endpoint>,
  fits: readonly RequestFit[],
  rename: RenameFields,
): void {
  const rows = fits.flatMap(({ changes }, index) =>
    changes.length === 0 ? [] : [[String(index + 1), endpoints[index]!.tag, rename(changes.join(', '))]],
  );
  if (rows.length === 0) return;
  const columns = [
    { title: '#', isNumber: true },
    { title: 'ENDPOINT' },
    { title: 'LEFT OUT OR CHANGED', canWrap: true },
  ];
  terminal.stdout.write(`\n${drawTable(terminal, columns, rows)}`);
}

function printExcluded(terminal: Terminal, { excluded }: Plan<Endpoint>): void {
  if (excluded.length === 0) return;
  const rows = excluded.map(({ endpoint, code, reason }) => [endpoint.model, endpoint.tag, code, reason]);
  const columns = [{ title: 'EXCLUDED' }, { title: 'ENDPOINT' }, { title: 'CODE' }, { title: 'REASON', canWrap: true }];
  terminal.stdout.write(`\n${drawTable(terminal, columns, rows)}`);
}

const listColumns = (hasWeights: boolean): Column[] => [
  { title: '#', isNumber: true },
  { title: 'MODEL' },
  { title: 'ENDPOINT' },
  ...['IN $/M', 'OUT $/M', ...(hasWeights ? ['WEIGHT'] : []), 'FIRST'].map((title) => ({ title, isNumber: true })),
];

/** USD per million tokens of input and of output; `+` means more for long prompts. */
function writePrices({ pricing }: EndpointFacts): [string, string] {
  if (!pricing) return ['unknown', 'unknown'];
  const mark = pricing.above ? '+' : '';
  const { promptNanoUsdPerMillion: prompt, completionNanoUsdPerMillion: completion } = pricing;
  return [`${prompt / 1e9}${mark}`, `${completion / 1e9}${mark}`];
}

const writeShare = (percent: number): string =>
  percent === 0 || percent === 100 ? `${percent}%` : `${percent < 1 ? '<1' : Math.round(percent)}%`;

function writeJson({ plan, shares, fits, defaultModel, rename = (text) => text }: Explanation) {
  return {
    requested: plan.requested,
    strategy: plan.strategy,
    default_text_model: defaultModel ?? null,
    default_provider_sort: plan.usualSort ?? null,
    routing_strategy: plan.routingStrategy ?? null,
    pipeline: plan.stages,
    endpoints: plan.endpoints.map((endpoint, index) => ({
      model: endpoint.model,
      provider: endpoint.provider.name,
      tag: endpoint.tag,
      upstream_model: endpoint.upstreamModel,
      pricing: endpoint.pricing && {
        prompt: writePerToken(endpoint.pricing.promptNanoUsdPerMillion),
        completion: writePerToken(endpoint.pricing.completionNanoUsdPerMillion),
      },
      weight: endpoint.weight,
      first_percent: Math.round((shares.get(endpoint.id) ?? 0) * 10) / 10,
      ...(fits && { rules: fits[index]!.rules, changes: fits[index]!.changes.map(rename) }),
    })),
    excluded: plan.excluded.map(({ endpoint, code, reason }) => ({
      model: endpoint.model,
      provider: endpoint.provider.name,
      tag: endpoint.tag,
      code,
      reason,
    })),
  };
}
