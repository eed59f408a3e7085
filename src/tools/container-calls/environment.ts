import { type Static, Type } from 'typebox';
import { containerIdPattern, containerIdRule } from '../../domain/container-id.ts';
import type { Issue } from '../../domain/errors.ts';
import { byKind } from '../../schema/by-kind.ts';
import { show } from '../../schema/report.ts';
import type { NetworkPolicy } from '../containers.ts';

/** Maximum files of `file_ids`. */
export const MAX_FILE_IDS = 20;

const MAX_DOMAINS = 50;

// choice 580
const closed = { additionalProperties: false };

const networkPolicy = byKind('a network policy', 'type', {
  disabled: Type.Object({ type: Type.Literal('disabled') }, closed),
  allowlist: Type.Object(
    {
      type: Type.Literal('allowlist'),
      allowed_domains: Type.Array(Type.String(), { maxItems: MAX_DOMAINS }),
    },
    closed,
  ),
});

const container = {
  file_ids: Type.Optional(Type.Array(Type.String(), { maxItems: MAX_FILE_IDS })),
  network_policy: Type.Optional(networkPolicy),
};

export const environmentSchema = byKind('an environment', 'type', {
  container_auto: Type.Object({ type: Type.Literal('container_auto'), ...container }, closed),
  container_reference: Type.Object(
    {
      type: Type.Literal('container_reference'),
      container_id: Type.String({ pattern: containerIdPattern, says: containerIdRule }),
      ...container,
    },
    closed,
  ),
});

/** Where the commands of a tool run. */
export type ContainerEnvironment = Static<typeof environmentSchema>;

/** Parameters that all tools with a container have. */
export const containerParameters = {
  environment: Type.Optional(environmentSchema),
  sleep_after_seconds: Type.Optional(Type.Integer({ minimum: 1 })), // choice 517
};

export interface ContainerParameters {
  readonly environment?: ContainerEnvironment;
  readonly sleep_after_seconds?: number;
}

/** A lower-case host name, in which `*` stands for any characters. */
const domainShape =
  /^(?=.{1,253}$)(?:\*|[a-z0-9*](?:[a-z0-9*-]{0,61}[a-z0-9*])?(?:\.[a-z0-9*](?:[a-z0-9*-]{0,61}[a-z0-9*])?)*)$/;

/** Returns problems beyond the shape, with paths below `parameters`. */
export function checkEnvironment({ environment: given }: ContainerParameters): Issue[] {
  const policy = given?.network_policy;
  if (policy?.type !== 'allowlist') return [];
  return policy.allowed_domains.flatMap((domain, index): Issue[] => {
    if (domainShape.test(domain)) return [];
    const field = `allowed_domains[${index}]`;
    const message = `\`${field}\` must be a lower-case host name without port, with \`*\` for any characters, got ${show(domain)}.`;
    return [{ path: `parameters.environment.network_policy.${field}`, message }];
  });
}

/** Returns what may leave the container; undefined: nothing. */
export function readNetwork(given: ContainerEnvironment | undefined): NetworkPolicy | undefined {
  const policy = given?.network_policy;
  if (policy?.type !== 'allowlist' || policy.allowed_domains.length === 0) return undefined;
  return { allowedDomains: policy.allowed_domains };
}

/** Lists settings that have no effect. */
export const listIgnored = ({ sleep_after_seconds: seconds }: ContainerParameters): string[] =>
  seconds === undefined ? [] : ['sleep_after_seconds'];
