import type { ScriptedResponse } from '../scripted-responses.ts';
import { json } from '../scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../scripted-upstream.ts';
import type { Refusal } from './words.ts';

/** A server that refuses what the real one refuses. Written from the sources, not from the rules of the gateway. */
export interface StrictProvider {
  /** The id of the fake: `mistral`, `llama-cpp`, `deepseek-messages`. */
  readonly id: string;
  /** The id of the known provider whose rules hold. Absent: the id of the fake. */
  readonly provider?: string;
  readonly wire: 'openai-chat' | 'openai-responses' | 'anthropic-messages' | 'gemini';
  /** A model of the server that obeys all rules. */
  readonly model: string;
  /** Returns the refusal of a body, or undefined if the server takes it. */
  readonly check: (body: unknown, path: string) => Refusal | undefined;
  /** Answers a body that was accepted. */
  readonly answer: (body: unknown, parts: ResponseParts) => ScriptedResponse;
}

export interface ResponseParts {
  /** Counts the calls of this server, so that ids differ. */
  nextCall: () => number;
  /** The path of the request: `/v1/models/gemini-3-pro:streamGenerateContent?alt=sse`. */
  path: string;
}

/** A strict provider that runs. */
export interface RunningStrictProvider {
  /** The `base_url`. */
  readonly url: string;
  readonly upstream: ScriptedUpstream;
  /** The refusals so far, each with the body that was refused. */
  readonly refusals: readonly { refusal: Refusal; body: unknown }[];
  close(): Promise<void>;
}

/** Starts a strict provider on a free port of 127.0.0.1. Close it when the test ends. */
export async function startStrictProvider(provider: StrictProvider): Promise<RunningStrictProvider> {
  const upstream = await startUpstream();
  const refusals: { refusal: Refusal; body: unknown }[] = [];
  let calls = 0;
  upstream.always(({ body, path }: ScriptedRequest) => {
    const refusal = provider.check(body, path);
    if (refusal) {
      refusals.push({ refusal, body });
      return json(refusal.body, { status: refusal.status });
    }
    return provider.answer(body, { nextCall: () => calls++, path });
  });
  return { url: upstream.url, upstream, refusals, close: () => upstream.close() };
}
