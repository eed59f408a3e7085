import { performance } from 'node:perf_hooks'; // the global is a getter
import type { RouterMetadata } from '../../domain/router-metadata.ts';
import { listDroppedFields } from './dropped-fields.ts';
import type { RunBase } from './run.ts';
import { attemptsOf, committedOf, lastAttemptOf } from './step.ts';

/**
 * Explains the route of a run.
 *
 * @returns undefined if the caller did not request it, or before there was a route
 * @see router-metadata.md
 */
export function createRouterMetadata(run: RunBase, region: string): RouterMetadata | undefined {
  const plan = run.steps.at(-1)?.plan;
  if (!run.metadata || !plan || run.error?.rateLimit) return undefined; // our own limits show no route
  const attempts = attemptsOf(run);
  const selected = run.error ? undefined : committedOf(run)?.endpoint; // an interrupted attempt did not serve it
  const excluded = plan.excluded.map(({ endpoint }) => endpoint);
  const available = [...plan.endpoints, ...excluded].map((endpoint) => ({
    provider: endpoint.provider.name,
    model: endpoint.model,
    selected: endpoint === selected,
  }));
  const metadata: RouterMetadata = {
    requested: run.preset?.requested ?? plan.requested,
    strategy: plan.strategy,
    region,
    summary: `available=${plan.endpoints.length}${selected ? `, selected=${selected.provider.name}` : ''}`,
    attempt: run.isBlocked ? 1 : attempts.length, // as the interface has it, although nothing was tried
    is_byok: selected?.workspace !== undefined,
    endpoints: { total: available.length, available },
  };
  if (attempts.length > 0) {
    metadata.attempts = attempts.map(({ endpoint, status, error, upstreamRequestId }) => ({
      provider: endpoint.provider.name,
      model: endpoint.model,
      status,
      ...(upstreamRequestId === undefined ? undefined : { upstream_request_id: upstreamRequestId }),
      ...(error === undefined ? undefined : { message: error.message.slice(0, MAX_MESSAGE_CHARACTERS) }),
    }));
  }
  const params = describeParams(run);
  if (Object.keys(params).length > 0) metadata.params = params;
  if (run.stages.length > 0) metadata.pipeline = run.stages;
  const sent = attempts.findLast(({ dispatchedAt }) => dispatchedAt !== undefined);
  // `sent` has a `dispatchedAt`
  if (sent) metadata.generation_time = Math.round((sent.endedAt ?? performance.now()) - sent.dispatchedAt!);
  return metadata;
}

/** Maximum characters of the message of a failed attempt. */
export const MAX_MESSAGE_CHARACTERS = 300;

/** Maximum length of a list of reasons. */
const MAX_REASONS = 100;

/** Returns the workspace settings that replaced missing fields of the request, by name. */
function describeDefaults({ modelDefault, pluginDefaults, steps }: RunBase): Record<string, unknown> | undefined {
  const plan = steps.at(-1)?.plan;
  const sort = plan?.usualSort;
  if (modelDefault === undefined && sort === undefined && !pluginDefaults) return undefined;
  return {
    ...(modelDefault !== undefined && plan && { [modelDefault]: plan.requested }),
    ...(sort !== undefined && { default_provider_sort: sort }),
    ...(pluginDefaults && { default_plugins: pluginDefaults }),
  };
}

function describeParams(run: RunBase): Record<string, unknown> {
  const params: Record<string, unknown> = {};
  const step = run.steps.at(-1);
  const excluded = step ? [...step.plan.excluded, ...step.skipped] : [];
  if (excluded.length > 0) {
    params['excluded'] = excluded.slice(0, MAX_REASONS).map(({ endpoint, reason }) => ({
      provider: endpoint.provider.name,
      model: endpoint.model,
      reason,
    }));
  }
  if (run.preset) params['preset'] = { slug: run.preset.slug, version: run.preset.version };
  const defaults = describeDefaults(run);
  if (defaults) params['workspace_defaults'] = defaults;
  if (run.ignoredFields.length > 0) params['ignored_fields'] = run.ignoredFields;
  if (run.unknownProviders) params['unknown_providers'] = run.unknownProviders.slice(0, MAX_REASONS);
  if (run.innerRuns.length > 0) {
    params['inner_generations'] = run.innerRuns.slice(0, MAX_REASONS).map(({ generationId }) => generationId);
  }
  const attempt = lastAttemptOf(run);
  const clamped = attempt ? [...run.clamped, ...attempt.adjustments] : run.clamped;
  if (clamped.length > 0) params['clamped'] = clamped;
  if (!attempt) return params;
  const dropped = listDroppedFields(run);
  if (dropped.length > 0) params['dropped_fields'] = dropped;
  if (attempt.adapted.length > 0) params['adapted'] = attempt.adapted;
  const learned = attemptsOf(run).flatMap(({ lessons, error, endpoint }) =>
    error
      ? []
      : lessons
          .filter(({ isOnce }) => !isOnce)
          .map(({ name }) => ({ provider: endpoint.provider.name, model: endpoint.model, refused: name })),
  );
  if (learned.length > 0) params['learned'] = learned;
  if (attempt.droppedUpstreamFields.length > 0) params['dropped_upstream_fields'] = attempt.droppedUpstreamFields;
  if (attempt.upstreamModel !== undefined) params['upstream_model'] = attempt.upstreamModel;
  return params;
}
