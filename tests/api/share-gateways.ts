import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

export interface SharedGateways {
  /** Returns the gateway with these parts of the configuration. The first call starts it. */
  open(parts: Record<string, unknown>): Promise<TestGateway>;
  close(): Promise<void>;
}

/** Gateways that tests of a file share, for tests that do not depend on what others sent. A start costs 50 ms of CPU time. */
export function shareGateways(): SharedGateways {
  const gateways = new Map<string, Promise<TestGateway>>();
  return {
    open(parts) {
      const name = JSON.stringify(parts);
      const gateway = gateways.get(name) ?? testGateway(parts);
      gateways.set(name, gateway);
      return gateway;
    },
    async close() {
      for (const gateway of gateways.values()) await (await gateway).close();
    },
  };
}
