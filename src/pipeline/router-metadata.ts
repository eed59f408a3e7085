import { performance } from 'node:perf_hooks'; // the global is a getter
import type { RouterMetadata } from '../domain/router-metadata.ts';
import type { RunBase } from './run.ts';

/**
 * Why the run went the way it went.
 *
 * @returns undefined when the caller did not ask, or before there was a route to tell of
 * @see router-metadata.md
 */
export function createRouterMetadata(run: RunBase, region: string): RouterMetadata | undefined {
  const { plan, attempts } = run;
  if (!run.metadata || !plan || run.error?.rateLimit) return undefined; // of our own limits no route is told
  const selected = run.error ? undefined : run.selected; // who broke off did not serve
  const excluded = plan.excluded.map(({ endpoint }) => endpoint);
  const available = [...plan.endpoints, ...excluded].map((endpoint) => ({
    provider: endpoint.provider.name,
    model: endpoint.model,
    selected: endpoint === selected,
  }));
  const metadata: RouterMetadata = {
    requested: plan.requested,
    strategy: plan.strategy,
    region,
    summary: `available=${plan.endpoints.length}${selected ? `, selected=${selected.provider.name}` : ''}`,
    attempt: attempts.length,
    is_byok: selected?.workspace !== undefined,
    endpoints: { total: available.length, available },
  };
  if (attempts.length > 0) {
    metadata.attempts = attempts.map(({ endpoint, status, error }) => ({
      provider: endpoint.provider.name,
      model: endpoint.model,
      status,
      ...(error === undefined ? undefined : { message: error.message.slice(0, MAX_CHARACTERS) }),
    }));
  }
  const params = describeParams(run);
  if (Object.keys(params).length > 0) metadata.params = params;
  if (run.stages.length > 0) metadata.pipeline = run.stages;
  if (run.dispatchedAt !== undefined) {
    metadata.generation_time = Math.round((run.upstreamEndedAt ?? performance.now()) - run.dispatchedAt);
  }
  return metadata;
}

/** What is shown of why an attempt failed. */
const MAX_CHARACTERS = 300;

/** No list of reasons is longer. */
const MAX_REASONS = 100;

/** The settings of the workspace that stood in for what the request leaves open, by their names. */
function describeDefaults({ modelDefault, plan }: RunBase): Record<string, string> | undefined {
  const sort = plan?.usualSort;
  if (modelDefault === undefined && sort === undefined) return undefined;
  return {
    ...(modelDefault !== undefined && plan && { [modelDefault]: plan.requested }),
    ...(sort !== undefined && { default_provider_sort: sort }),
  };
}

function describeParams(run: RunBase): Record<string, unknown> {
  const params: Record<string, unknown> = {};
  const excluded = [...(run.plan?.excluded ?? []), ...(run.passedOver ?? [])];
  if (excluded.length > 0) {
    params['excluded'] = excluded.slice(0, MAX_REASONS).map(({ endpoint, reason }) => ({
      provider: endpoint.provider.name,
      model: endpoint.model,
      reason,
    }));
  }
  const defaults = describeDefaults(run);
  if (defaults) params['workspace_defaults'] = defaults;
  if (run.ignoredFields.length > 0) params['ignored_fields'] = run.ignoredFields;
  if (run.unknownProviders) params['unknown_providers'] = run.unknownProviders.slice(0, MAX_REASONS);
  const clamped = run.fitted ? [...run.clamped, ...run.fitted] : run.clamped;
  if (clamped.length > 0) params['clamped'] = clamped;
  if (run.droppedFields.length > 0) params['dropped_fields'] = run.droppedFields;
  if (run.droppedUpstreamFields.length > 0) params['dropped_upstream_fields'] = run.droppedUpstreamFields;
  if (run.upstreamModel !== undefined) params['upstream_model'] = run.upstreamModel;
  return params;
}
