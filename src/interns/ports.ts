import type { Intern } from '../domain/intern.ts';

/** Credentials with which an agent calls the gateway. Each start creates new ones; the previous ones are rejected. */
export interface InternCredentials {
  /** An inference key that belongs to the intern. Never stored or logged. */
  apiKey: string;
}

/** A runtime that accepts requests. */
export interface StartedRuntime {
  /** Stored as `Intern.runtimeAddress`, so that every process of the gateway can find it. Has no secret. */
  address: string;
}

/**
 * Runs the agents of interns. The lifecycle calls it only in the process that owns the intern. Every call is idempotent:
 * after a crash another process makes the same call again. Calls of one intern never overlap, except `stop` and `destroy`,
 * which may follow an aborted `start` at once.
 *
 * A signal counts only until the call has settled.
 *
 * A rejection ends the attempt. Its message becomes `lastFailureMessage`, so it has no secret and says what to do.
 */
export interface InternRuntime {
  /** Creates the home folder, or restores the saved one. */
  prepareHome(intern: Intern, signal: AbortSignal): Promise<void>;
  /** Starts the agent in its home. Replaces the agent that this process started before. */
  start(intern: Intern, credentials: InternCredentials, signal: AbortSignal): Promise<StartedRuntime>;
  /** @returns why the agent does not work; undefined: it works */
  checkHealth(intern: Intern, signal: AbortSignal): Promise<string | undefined>;
  /** Saves the home and ends all processes of the intern. Does nothing if none runs. */
  stop(internId: string): Promise<void>;
  /**
   * Ends all processes that this process started, and saves nothing: another process owns the intern by now, or will soon.
   * Does nothing if none runs.
   */
  abandon(internId: string): Promise<void>;
  /**
   * Ends all processes and removes the home, also if this process never started the intern.
   *
   * @throws {InternTeardownError} if something has to stay, which the operator or the caller must decide about
   */
  destroy(internId: string, options: { acknowledgesLoss: boolean }): Promise<void>;
}

/** Owns the vaults of interns. */
export interface InternVaults {
  /** Creates a vault. Does nothing if it exists. */
  create(vault: { vaultId: string; internId: string; workspaceId: string }): Promise<void>;
  /** Deletes a vault with its secrets and its data key. Does nothing if there is none. */
  destroy(vaultId: string): Promise<void>;
}

/** A teardown that needs a decision. */
export class InternTeardownError extends Error {
  /** Such as `WORKSPACE_ARCHIVE_FAILED`. */
  readonly reason: string;

  constructor(reason: string, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'InternTeardownError';
    this.reason = reason;
  }
}
