import type { GatewayError } from '../../domain/errors.ts';
import { committedOf } from '../../pipeline/run/step.ts';
import type { Run } from '../../pipeline/run/run.ts';
import type { RenameFields } from '../../requests/rename-fields.ts';
import type { ChatOutputSettings } from '../../requests/chat/request.ts';

/** Facts outside the body that a chat completion depends on. */
export interface ChatClient {
  /** Names fields as the body does. */
  rename: RenameFields;
  /** Whether the client rejects a text as the code of an error. */
  readsNumbers: boolean;
}

/** The facts of a run that its chat completion repeats. */
export interface ChatFacts extends ChatOutputSettings, ChatClient {
  /** `gen-…`, the id in `X-Generation-Id`. */
  id: string;
  /** Unix seconds. */
  created: number;
  /** The model of the request, before one was chosen. */
  requested: string;
  /** The display name of the provider; undefined before one was chosen. */
  findProvider: () => string | undefined;
  /** The provider's own word for the end; undefined if it has none. */
  findNativeReason: () => string | undefined;
  /** The failure of the run. */
  findError: () => GatewayError | undefined;
}

/** Reads the facts of a run. */
export const readChatFacts = (run: Run, output: ChatOutputSettings, client: ChatClient): ChatFacts => ({
  ...output,
  ...client,
  id: run.generationId,
  created: Math.floor(run.startedAtMs / 1000),
  requested: run.request.model ?? run.request.models?.[0] ?? '',
  findProvider: () => committedOf(run)?.endpoint.provider.name,
  findNativeReason() {
    const finish = committedOf(run)?.finish;
    return (finish?.nativeReason ?? finish?.reason) || undefined;
  },
  findError: () => run.error,
});
