import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Agent, type AgentRun, AgentSeat, findAgent } from './agent-seat.ts';
import type { BackEnd } from './back-end.ts';

export const opencode: Agent = {
  variable: 'HEADGATE_TEST_OPENCODE',
  name: 'opencode',
  module: 'opencode-ai',
  version: '1.18.33',
};

export const findOpencode = () => findAgent(opencode);

export interface OpencodeEvent {
  type: string;
  part?: { type: string; text?: string; tool?: string; state?: { status: string } };
  error?: unknown;
}

/** A seat of the coding agent opencode. */
export class OpencodeSeat extends AgentSeat {
  /** Runs it with a prompt. It reads its settings from the working folder. */
  exec({ gateway, model }: BackEnd, prompt: string, { continues = false } = {}): Promise<AgentRun<OpencodeEvent>> {
    const provider = {
      npm: '@ai-sdk/anthropic', // a part of the program
      name: 'Gateway',
      options: { baseURL: gateway.baseUrl, apiKey: gateway.key },
      models: { [model]: { name: 'Model', tool_call: true, limit: { context: 200_000, output: 8000 } } },
    };
    const config = {
      provider: { gateway: provider },
      enabled_providers: ['gateway'],
      small_model: `gateway/${model}`,
      autoupdate: false,
      share: 'disabled',
      permission: { '*': 'allow' },
      agent: { title: { disable: true } },
    };
    writeFileSync(join(this.folder, 'opencode.json'), JSON.stringify(config));
    return this.run(
      [
        'run',
        '--format',
        'json',
        ...(continues ? ['--continue'] : ['--title', 'Test']),
        '--model',
        `gateway/${model}`,
        prompt,
      ],
      {
        npm_config_registry: 'http://127.0.0.1:9', // it looks for updates of its plugins, and works without an answer
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
        OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
      },
    );
  }
}
