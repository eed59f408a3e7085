import { type Agent, type AgentRun, AgentSeat, findAgent } from './agent-seat.ts';
import type { BackEnd } from './back-end.ts';

export const claude: Agent = {
  variable: 'HEADGATE_TEST_CLAUDE',
  name: 'claude',
  module: '@anthropic-ai/claude-code',
  version: '2.1.330',
};

export const findClaude = () => findAgent(claude);

export interface ClaudeEvent {
  type: string;
  subtype?: string;
  is_error?: boolean;
  result?: string;
  message?: { content?: { type: string; text?: string; is_error?: boolean }[] };
}

/** A seat of the coding agent Claude Code. */
export class ClaudeSeat extends AgentSeat {
  /** Runs it with a prompt. Its files are in a folder of the test, so it needs no permissions. */
  exec({ gateway, model }: BackEnd, prompt: string, { continues = false } = {}): Promise<AgentRun<ClaudeEvent>> {
    const output = [
      ...(continues ? ['--continue'] : []),
      '--output-format',
      'stream-json',
      '--verbose',
      '--dangerously-skip-permissions',
    ];
    const env = claudeEnv({ url: gateway.url, key: gateway.key, model });
    return this.run(['-p', prompt, '--model', model, ...output], env);
  }
}

/** The variables that connect it to a gateway. */
export function claudeEnv({ url, key, model }: { url: string; key: string; model: string }): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: `${url}/api`,
    ANTHROPIC_AUTH_TOKEN: key,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', // telemetry, updates, error reports
    CLAUDE_CODE_MAX_RETRIES: '0',
    IS_SANDBOX: '1', // it may run as root
  };
}
