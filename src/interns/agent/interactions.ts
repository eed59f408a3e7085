import type { AgentInteraction, InteractionReply, PermissionOption } from './events.ts';

/** The person has cancelled a question, and with it the run. */
export class CancelledError extends Error {
  constructor() {
    super('The run was cancelled.');
    this.name = 'CancelledError';
  }
}

/** The question of a run that waits for its answer: one at a time. */
export class Interactions {
  private pending: { id: string; answer: PromiseWithResolvers<InteractionReply> } | undefined;

  /** Waits for the answer to a question. @throws the reason of the signal */
  async open(interaction: AgentInteraction, signal: AbortSignal): Promise<InteractionReply> {
    const answer = Promise.withResolvers<InteractionReply>();
    const stop = (): void => answer.reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    this.pending = { id: interaction.id, answer };
    try {
      return await answer.promise;
    } finally {
      signal.removeEventListener('abort', stop);
      this.pending = undefined;
    }
  }

  /** @returns whether the question was pending */
  settle(id: string, answer: InteractionReply): boolean {
    if (this.pending?.id !== id) return false;
    this.pending.answer.resolve(answer);
    return true;
  }
}

/** Everything that can be consented to. */
export const permissionOptions: PermissionOption[] = ['allow_once', 'allow_always', 'reject_once', 'reject_always'];
