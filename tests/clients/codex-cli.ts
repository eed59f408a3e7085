import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Agent, type AgentRun, AgentSeat, findAgent } from './agent-seat.ts';
import type { BackEnd } from './back-end.ts';

export const codex: Agent = {
  variable: 'HEADGATE_TEST_CODEX',
  name: 'codex',
  module: '@openai/codex',
  version: '0.169.0',
};

export const findCodex = () => findAgent(codex);

export interface CodexEvent {
  type: string;
  message?: string;
  item?: { type: string; text?: string; command?: string; aggregated_output?: string; exit_code?: number | null };
  usage?: Record<string, number>;
}

/** A seat of the coding agent Codex. */
export class CodexSeat extends AgentSeat {
  /** Runs it with a prompt and its default settings. */
  exec(backEnd: BackEnd, prompt: string, options?: CodexOptions): Promise<AgentRun<CodexEvent>> {
    const resume = options?.continues ? ['resume', '--last'] : [];
    return this.call(backEnd, ['exec', '--json', '--skip-git-repo-check', ...resume, prompt], options);
  }

  /** Returns the models that it knows. */
  async listModels(backEnd: BackEnd): Promise<CodexModel[]> {
    const { events } = await this.call<{ models: CodexModel[] }>(backEnd, ['debug', 'models'], { discovers: true });
    return events[0]?.models ?? [];
  }

  private call<Event = CodexEvent>(
    { gateway, model }: BackEnd,
    parameters: readonly string[],
    options: CodexOptions = {},
  ): Promise<AgentRun<Event>> {
    const settings = join(this.home, '.codex');
    mkdirSync(settings, { recursive: true });
    writeFileSync(join(settings, 'config.toml'), writeConfig(gateway.baseUrl, model, options));
    return this.run(parameters, { CODEX_HOME: settings, GATEWAY_KEY: gateway.key });
  }
}

export interface CodexOptions {
  /** Whether the prompt continues the last session of the seat. */
  continues?: boolean;
  /** Whether it reads the list of models of the gateway. It does so only with a key that a command prints. */
  discovers?: boolean;
  /** Whether it requests compactions, after each turn. It does so only of a provider with the name of its vendor. */
  compacts?: boolean;
  /** Whether it requests responses over a WebSocket. */
  overWebSocket?: boolean;
}

/** A model as it knows it. */
export interface CodexModel {
  slug: string;
  [field: string]: unknown;
}

/** Commands come from the test alone, so they need no sandbox. Nothing may call the maker of the program. */
function writeConfig(baseUrl: string, model: string, { discovers, compacts, overWebSocket }: CodexOptions): string {
  const key = discovers
    ? `[model_providers.gateway.auth]\ncommand = "printenv"\nargs = ["GATEWAY_KEY"]\n`
    : 'env_key = "GATEWAY_KEY"\n';
  return `model = "${model}"
${compacts ? 'model_auto_compact_token_limit = 100\n' : ''}model_provider = "gateway"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false
apps = false

[model_providers.gateway]
name = "${compacts ? 'OpenAI' : 'Gateway'}"
base_url = "${baseUrl}"
wire_api = "responses"
supports_websockets = ${overWebSocket === true}
request_max_retries = 0
stream_max_retries = 0
${key}`;
}
