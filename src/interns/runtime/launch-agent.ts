import { setTimeout as pause } from 'node:timers/promises';
import type { Intern } from '../../domain/intern.ts';
import { listTrustVariables } from '../../platform/egress/trust-bundle.ts';
import type { Sandbox, SandboxProcess } from '../../platform/sandbox/sandbox.ts';
import { AGENT_PORT, AgentClient, AgentError } from './agent-client.ts';
import { readAgentFiles, readOperatorFiles } from './agent-files.ts';
import { BOOT_FOLDER, builtinCommand, INSTRUCTIONS_PATH, NO_NODE, writeBootScript } from './boot-script.ts';
import type { ControlSigner } from './control-signer.ts';
import type { LogRing } from './log-ring.ts';
import { readAgentOutput } from './read-agent-output.ts';
import { GATEWAY_URL, type InternEgress, type RuntimeProgram, type RuntimeTimes } from './runtime-parts.ts';

/** The key that an agent sends. The gateway replaces it, so the agent never has the real one. choice 680 */
export const KEY_PLACEHOLDER = 'headgate-intern-placeholder';
const POLL_MS = 50;
/** Time for the last output of an agent that has ended. */
const LAST_OUTPUT_MS = 500;

export interface Launch {
  sandbox: Sandbox;
  intern: Intern;
  signer: ControlSigner;
  program: RuntimeProgram | undefined;
  egress: InternEgress;
  logs: LogRing;
  times: RuntimeTimes;
}

/** Starts the agent in its sandbox, and waits until it accepts requests. @throws {Error} whose message is for the caller */
export async function launchAgent(launch: Launch, signal: AbortSignal): Promise<SandboxProcess> {
  const { sandbox, intern, program, signer, logs, egress } = launch;
  const { trustBundle } = egress;
  const files = [
    { path: 'instructions.md', content: Buffer.from(intern.instructions ?? '') },
    ...(program ? readOperatorFiles(program.files) : readAgentFiles()),
    ...(trustBundle === undefined ? [] : [{ path: 'ca.pem', content: Buffer.from(trustBundle) }]),
  ];
  const started = await sandbox.start({
    command: writeBootScript(files, program?.command ?? builtinCommand),
    environment: {
      HEADGATE_BASE_URL: GATEWAY_URL,
      HEADGATE_API_KEY: KEY_PLACEHOLDER,
      HEADGATE_INSTRUCTIONS: INSTRUCTIONS_PATH,
      HEADGATE_INTERN_ID: intern.id,
      HEADGATE_INTERN_NAME: intern.name,
      HEADGATE_CONTROL_KEY: signer.publicKey,
      HEADGATE_REPLY_KEY: signer.replies.publicKey,
      PORT: String(AGENT_PORT),
      ...(intern.model !== null && { HEADGATE_MODEL: intern.model }),
      ...egress.environment,
      ...(trustBundle !== undefined && listTrustVariables(`${BOOT_FOLDER}/ca.pem`)),
    },
  });
  const output = readAgentOutput(started.stream, logs);
  started.stream.write(Buffer.concat(files.map(({ content }) => content)));
  try {
    await awaitHealth({ started, output }, launch, signal);
  } catch (error) {
    await started.kill().catch(() => {}); // the sandbox has ended
    throw error;
  }
  return started;
}

/** @throws {Error} if it ended or does not accept requests in time */
async function awaitHealth(
  { started, output }: { started: SandboxProcess; output: Promise<void> },
  { sandbox, intern, signer, logs, times }: Launch,
  signal: AbortSignal,
) {
  let exit: string | undefined;
  started.exited.then(
    async (code) => {
      await Promise.race([output, pause(LAST_OUTPUT_MS)]); // a process in the background can keep it open
      exit = explainExit(code, logs);
    },
    (error: Error) => {
      exit = error.message;
    },
  );
  const agent = new AgentClient(sandbox, signer);
  for (const untilMs = performance.now() + times.startMs; ; ) {
    signal.throwIfAborted();
    if (exit !== undefined) throw new Error(exit);
    try {
      return await agent.checkHealth(AbortSignal.any([signal, AbortSignal.timeout(times.checkMs)]));
    } catch (error) {
      signal.throwIfAborted();
      if (performance.now() > untilMs) {
        throw new Error(explainDelay(intern, times, error), { cause: error });
      }
      await pause(POLL_MS);
    }
  }
}

/** An agent that cannot be reached has said nothing more. */
function explainDelay({ name }: Intern, { startMs }: RuntimeTimes, error: unknown): string {
  const isSilent = error instanceof AgentError && error.problem === 'unreachable';
  const says = isSilent ? '' : ` (${error instanceof Error ? error.message.replace(/\.$/, '') : String(error)})`;
  return `The agent did not accept requests within ${startMs / 1000} s${says}; \`headgate interns logs ${name}\` shows what it wrote.`;
}

function explainExit(code: number, logs: LogRing): string {
  if (code === NO_NODE) {
    return 'The image of the sandbox has no Node.js, which the agent needs. Set tools.sandbox.docker.image or tools.sandbox.kubernetes.image to an image with Node.js 20 or later.';
  }
  const last = logs.text.trimEnd().split('\n').slice(-3).join(' | ').slice(-500);
  return `The agent ended with code ${code}${last === '' ? '.' : `: ${last}`}`;
}
