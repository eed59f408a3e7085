import { knownProviders } from '../../src/config/known-providers.ts';
import {
  startStrictProvider,
  type StrictProvider,
  type RunningStrictProvider,
} from '../../src/testing/strict/index.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { providerKey } from '../api/lab.ts';

/** An inbound API of the gateway, in the words of these tests. */
export type InboundApi = 'responses' | 'chat' | 'messages' | 'gemini';

const paths = { responses: '/responses', chat: '/chat/completions', messages: '/messages' };

/** Returns the path below `/api/v1` of an inbound API. That of Gemini names the model. */
export function pathOf(api: InboundApi, model: string, stream = false): string {
  if (api !== 'gemini') return paths[api];
  return `/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;
}

export interface StrictLab {
  readonly gateway: TestGateway;
  readonly fake: RunningStrictProvider;
  /** The slug of the model of the fake. */
  readonly model: string;
  /** Sends a body in the format of an inbound API. Adds the model. */
  send(api: InboundApi, body: object): Promise<SentResult>;
  close(): Promise<void>;
}

export interface SentResult {
  status: number;
  /** The parsed body; for a stream, its data lines. */
  body: Record<string, unknown>;
  text: string;
  headers: Headers;
  /** The body that the fake got last. */
  sent: Record<string, unknown>;
}

/** Starts a strict fake and a gateway whose provider of the same id is at the fake. */
export async function openStrictLab(strict: StrictProvider, more: object = {}): Promise<StrictLab> {
  const fake = await startStrictProvider(strict);
  const model = `${strict.id}/${strict.model}`;
  const gateway = await testGateway({ providers: [{ ...entryOf(strict, fake.url), ...more }] });
  return {
    gateway,
    fake,
    model,
    async send(api, body) {
      const full = { model, ...(api === 'messages' && { max_tokens: 1000 }), ...body };
      const response = await gateway.post(pathOf(api, model), full, { headers: { 'x-router-metadata': 'enabled' } });
      const text = await response.text();
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
      return {
        status: response.status,
        body: isStream ? {} : (JSON.parse(text) as Record<string, unknown>),
        text,
        headers: response.headers,
        sent: (fake.upstream.requests.at(-1)?.body ?? {}) as Record<string, unknown>,
      };
    },
    async close() {
      await gateway.close();
      await fake.close();
    },
  };
}

/** Names the known provider whose rules hold for a fake. */
export const sameAs = ({ id, provider = id }: StrictProvider): { same_as?: string } =>
  provider !== id && knownProviders.some((known) => known.id === provider) ? { same_as: provider } : {};

/** The entry of the configuration for a fake: an account of its known provider, or a server of its own. */
export const entryOf = (strict: StrictProvider, url: string) => ({
  id: strict.id,
  ...sameAs(strict),
  wire: strict.wire,
  base_url: url,
  api_key: providerKey,
  models: [{ model: `${strict.id}/*`, upstream_model: '*', rules_of: strict.model }],
});
