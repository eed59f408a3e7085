import { startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type Pace, serveRecordings } from '../../src/testing/serve-recordings.ts';
import { testGateway } from '../../src/testing/test-gateway.ts';

/** The folder with the recordings of a wire. */
export const recordingsOf = (wire: string) => new URL(`../../src/providers/${wire}/recordings/`, import.meta.url);

/** Starts a gateway with a provider for each wire, which serves its recordings: the model `WIRE/NAME` selects one. */
export async function openRecordings(wires: readonly string[], pace: Pace = {}) {
  const upstreams = await Promise.all(wires.map(() => startUpstream()));
  const providers = wires.map((wire, index) => {
    upstreams[index]!.always(serveRecordings(recordingsOf(wire), pace));
    return {
      id: wire,
      wire,
      base_url: upstreams[index]!.url,
      api_key: 'a-key-of-the-provider',
      models: [{ model: `${wire}/*` }],
    };
  });
  const gateway = await testGateway({ providers });
  return {
    gateway,
    async close(): Promise<void> {
      await gateway.close();
      await Promise.all(upstreams.map((upstream) => upstream.close()));
    },
  };
}
