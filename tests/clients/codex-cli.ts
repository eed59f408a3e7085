import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AgentRun, AgentSeat, findAgent } from './agent-seat.ts';
import type { BackEnd } from './back-end.ts';

/** The version that CI installs. */
export const codexVersion = '0.169.0';

export const findCodex = () =>
  findAgent({ variable: 'HEADGATE_TEST_CODEX', name: 'codex', module: '@openai/codex', version: codexVersion });

export interface CodexEvent {
  type: string;
  message?: string;
  item?: { type: string; text?: string; command?: string; aggregated_output?: string; exit_code?: number | null };
  usage?: Record<string, number>;
}

/** A seat of the coding agent Codex. */
export class CodexSeat extends AgentSeat {
  /** Runs it with a prompt and its default settings. */
  exec({ gateway, model }: BackEnd, prompt: string): Promise<AgentRun<CodexEvent>> {
    const settings = join(this.home, '.codex');
    mkdirSync(settings, { recursive: true });
    writeFileSync(join(settings, 'config.toml'), writeConfig(gateway.baseUrl, model));
    const env = { CODEX_HOME: settings, GATEWAY_KEY: gateway.key };
    return this.run(['exec', '--json', '--skip-git-repo-check', prompt], env);
  }
}

/** Commands come from the test alone, so they need no sandbox. Nothing may call the maker of the program. */
function writeConfig(baseUrl: string, model: string): string {
  return `model = "${model}"
model_provider = "gateway"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false
apps = false

[model_providers.gateway]
name = "Gateway"
base_url = "${baseUrl}"
env_key = "GATEWAY_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`;
}
