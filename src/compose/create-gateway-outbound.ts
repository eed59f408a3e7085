import type { Config } from '../config/schema.ts';
import { createOutbound, type Outbound, type OutboundSettings } from '../platform/outbound/outbound.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';

/** Creates the connections to addresses that callers name, with the rules of the configuration. */
export function createGatewayOutbound(config: () => Config, log: WriteLog): Outbound {
  let read = config().outbound;
  let settings = readOutbound(read); // replaced only by a reload, so that its rules are compiled once
  return createOutbound({
    settings() {
      const { outbound: now } = config();
      if (now !== read) settings = readOutbound(now);
      read = now;
      return settings;
    },
    report: (failure) => log('outbound fetch failed', failure),
  });
}

const readOutbound = (outbound: Config['outbound']): OutboundSettings => ({
  allow: outbound.allow,
  deny: outbound.deny,
  ports: outbound.ports,
  maxBytes: outbound.max_bytes,
  timeoutMs: outbound.timeout_ms,
  idleMs: outbound.idle_ms,
  parallel: outbound.parallel,
});
