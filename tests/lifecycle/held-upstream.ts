import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { chatChunk, stream } from '../api/lab.ts';

/** The model of the held provider. */
export const heldModel = 'held/m';

/** A provider whose streams end when a test says so, however long the other requests of the test take. */
export interface HeldUpstream {
  /** `providers` of a configuration, with the simulator. */
  providers: object[];
  /** Ends all streams, also later ones. */
  release(): void;
  close: ScriptedUpstream['close'];
}

export async function startHeldUpstream(): Promise<HeldUpstream> {
  const upstream = await startUpstream();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  async function* frames(): AsyncGenerator<object> {
    yield chatChunk({ role: 'assistant', content: 'Hello' });
    await released;
    yield chatChunk({}, 'stop');
  }
  upstream.always(() => stream('openai-chat', frames()));
  return {
    providers: [
      { id: 'simulator', wire: 'simulator', models: [{ model: 'simulator/*' }] },
      { id: 'held', wire: 'openai-chat', base_url: upstream.url, models: [{ model: heldModel }] },
    ],
    release,
    close: () => upstream.close(),
  };
}
