import { isIP } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { POD_LABELS } from './describe-pod.ts';
import { type KubeClient, KubeError } from './kube-client.ts';

/** The pods of the gateway, for clusters whose policies do not match pods by address. */
export interface GatewayPods {
  labels: Readonly<Record<string, string>>;
  /** Absent: that of the sandboxes. */
  namespace?: string;
}

const POLICIES = 'apis/networking.k8s.io/v1';
/** Label of a pod that may reach the egress proxy. Its value is of one sandbox. */
export const EGRESS_LABEL = 'headgate.egress';

/** Forbids pods of sandboxes all traffic, if the network of the cluster supports policies: choice 535. */
export const DENY_ALL = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'headgate-sandboxes' },
  spec: { podSelector: { matchLabels: POD_LABELS }, policyTypes: ['Ingress', 'Egress'] },
};

/** A policy that is there, and permits what the gateway does not want. */
export class PolicyError extends Error {
  override readonly name = 'PolicyError';
}

/** Creates the policy that forbids all traffic, or checks the one that exists. @throws {PolicyError} @throws {KubeError} */
export async function denyTraffic(client: KubeClient): Promise<void> {
  const found = (await findPolicy(client)) ?? (await createDenial(client)) ?? (await findPolicy(client));
  const { podSelector, policyTypes = [], ingress = [], egress = [] } = found?.spec ?? {};
  const selectsAll = isDeepStrictEqual(podSelector, DENY_ALL.spec.podSelector) || isDeepStrictEqual(podSelector, {});
  const coversBoth = DENY_ALL.spec.policyTypes.every((type) => policyTypes.includes(type));
  if (selectsAll && coversBoth && ingress.length === 0 && egress.length === 0) return;
  throw new PolicyError(
    `The NetworkPolicy ${DENY_ALL.metadata.name} in the namespace ${client.namespace} does not block all traffic of sandboxes. Delete it. The gateway creates it again.`,
  );
}

interface Policy {
  spec?: { podSelector?: unknown; policyTypes?: string[]; ingress?: unknown[]; egress?: unknown[] };
}

async function findPolicy(client: KubeClient): Promise<Policy | undefined> {
  try {
    return (await client.call('GET', `networkpolicies/${DENY_ALL.metadata.name}`, undefined, POLICIES)) as Policy; // the API
  } catch (error) {
    if (error instanceof KubeError && error.status === 404) return undefined;
    throw error;
  }
}

/** @returns undefined: another process was faster */
async function createDenial(client: KubeClient): Promise<Policy | undefined> {
  try {
    return (await client.call('POST', 'networkpolicies', DENY_ALL, POLICIES)) as Policy; // the API
  } catch (error) {
    if (error instanceof KubeError && error.status === 409) return undefined;
    throw error;
  }
}

interface EgressPlan {
  pod: { name: string; uid: string };
  /** The value of `EGRESS_LABEL` that the pod has. */
  label: string;
  /** Where the egress proxy listens. */
  proxy: URL;
  gatewayPods: GatewayPods | undefined;
}

/** Permits one pod to reach the egress proxy. Kubernetes removes the policy with the pod: choice 771. */
export function permitProxy(client: KubeClient, plan: EgressPlan): Promise<unknown> {
  return client.call('POST', 'networkpolicies', describePermission(plan), POLICIES);
}

/** Writes the policy that permits one pod to reach the egress proxy and nothing else. */
export function describePermission({ pod, label, proxy, gatewayPods }: EgressPlan): unknown {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: {
      name: pod.name,
      labels: POD_LABELS,
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: pod.name, uid: pod.uid }],
    },
    spec: {
      podSelector: { matchLabels: { ...POD_LABELS, [EGRESS_LABEL]: label } },
      policyTypes: ['Egress'],
      egress: [{ to: [describePeer(proxy, gatewayPods)], ports: [{ protocol: 'TCP', port: readPort(proxy) }] }],
    },
  };
}

function describePeer(proxy: URL, gatewayPods: GatewayPods | undefined): unknown {
  if (!gatewayPods) {
    const address = readAddress(proxy);
    return { ipBlock: { cidr: `${address}/${isIP(address) === 6 ? 128 : 32}` } };
  }
  const { labels, namespace } = gatewayPods;
  return {
    podSelector: { matchLabels: labels },
    ...(namespace !== undefined && {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    }),
  };
}

/** An IP address without brackets. */
export const readAddress = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');

/** A URL leaves the usual port out. */
export const readPort = ({ port }: URL): number => Number(port || 80);
