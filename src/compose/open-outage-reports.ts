import type { Peer } from '../platform/cluster/peer.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import { OutageLog, type OutageReports } from '../platform/telemetry/outage-log.ts';
import { serviceNames } from '../workers/services.ts';

/** Returns where outages are reported: the log of this process, or the primary, which logs them once for all workers. */
export function openOutageReports(log: WriteLog, primary: Peer | undefined): OutageReports {
  if (!primary) return new OutageLog(log).observe();
  return {
    begin: (service, fields) => primary.tell(serviceNames.outages, 'begin', service, fields),
    end: (service) => primary.tell(serviceNames.outages, 'end', service),
  };
}
