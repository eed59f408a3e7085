import type { ScriptedResponse } from '../scripted-responses.ts';
import { json, sse } from '../scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../scripted-upstream.ts';

/** A refusal of a request, in the words of the real server. */
export interface Refusal {
  status: number;
  body: unknown;
}

/** Returns the refusal of a body that the real server refuses. */
export type Check<Body> = (body: Body) => Refusal | undefined;

/** A server that refuses what the real one refuses. Written from the sources, not from the rules of the gateway. */
export interface StrictProvider<Body = never> {
  /** The id of the known provider, or a name for a kind of server: `mistral`, `llama-cpp`. */
  readonly id: string;
  readonly wire: 'openai-chat' | 'openai-responses' | 'anthropic-messages' | 'gemini';
  /** A model of the server that obeys all checks. */
  readonly model: string;
  readonly checks: readonly Check<Body>[];
  /** Returns the id that the server gives to its call with this number. */
  readonly callId: (index: number) => string;
  /** Answers a body that was accepted. */
  readonly answer: (body: Body, parts: ResponseParts) => ScriptedResponse;
}

export interface ResponseParts {
  callId: (index: number) => string;
  /** Counts the calls of this server, so that ids differ. */
  nextCall: () => number;
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
export async function startStrictProvider<Body>(provider: StrictProvider<Body>): Promise<RunningStrictProvider> {
  const upstream = await startUpstream();
  const refusals: { refusal: Refusal; body: unknown }[] = [];
  let calls = 0;
  upstream.always((request: ScriptedRequest) => {
    const body = request.body as Body; // each fake has checks for the bodies of its wire
    for (const check of provider.checks) {
      const refusal = check(body);
      if (!refusal) continue;
      refusals.push({ refusal, body });
      return json(refusal.body, { status: refusal.status });
    }
    return provider.answer(body, { callId: provider.callId, nextCall: () => calls++, path: request.path });
  });
  return { url: upstream.url, upstream, refusals, close: () => upstream.close() };
}

export { json, sse };
