import type { OpenEgress } from '../containers/container-parts.ts';
import { type CertificateAuthority, createCertificateAuthority } from '../platform/egress/certificate-authority.ts';
import type { EgressCounts, SandboxEgressOptions } from '../platform/egress/sandbox-egress.ts';
import { writeTrustBundle } from '../platform/egress/trust-bundle.ts';
import type { Outbound } from '../platform/outbound/outbound.ts';
import type { SandboxNetwork } from '../platform/sandbox/sandbox.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';

export interface EgressParts {
  outbound: Pick<Outbound, 'connectTo'>;
  counts: EgressCounts;
  log: WriteLog;
  openProxy: OpenProxy;
}

/** Opens a proxy for one sandbox, where its driver can reach it. */
export type OpenProxy = (
  options: SandboxEgressOptions,
) => Promise<{ network: SandboxNetwork; close: () => Promise<void> }>;

/** Creates the egress proxies of sandboxes, with the rules of the gateway. */
export function createEgress({ outbound, counts, log, openProxy }: EgressParts): OpenEgress {
  let created: CertificateAuthority | undefined;
  const getAuthority = (): CertificateAuthority => {
    created ??= createCertificateAuthority();
    return created;
  };
  return async ({ name, workspaceId, allowedDomains, release, ownHost }) => {
    const secrets = release && {
      release,
      authority: getAuthority(),
      ownHost: ownHost?.name,
      onFailure: (err: unknown) => log('secret release failed', { sandbox: name, workspace_id: workspaceId, err }),
    };
    const proxy = await openProxy({
      allowedDomains,
      counts,
      secrets,
      connect: (host, port, signal) =>
        host === ownHost?.name ? ownHost.connect() : outbound.connectTo(host, port, signal),
      report: (refusal) => log('egress refused', { sandbox: name, workspace_id: workspaceId, ...refusal }),
    });
    return { ...proxy, trustBundle: secrets && writeTrustBundle(secrets.authority) };
  };
}
