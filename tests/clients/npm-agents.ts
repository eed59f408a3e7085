import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Agent, type AgentRun, AgentSeat } from './agent-seat.ts';
import type { BackEnd } from './back-end.ts';
import type { Call } from './turn.ts';

/** A coding agent of npm, as data: its version, its settings and its tools. */
export interface NpmAgent extends Agent {
  title: string;
  /** Whether CI installs it. The others are tested where they are installed. */
  isInCi: boolean;
  /** Without a terminal it cannot continue a session. */
  startsOnly?: true;
  /** Files of its home folder with its settings. */
  files(target: Target): Record<string, object>;
  env(target: Target): Record<string, string>;
  parameters(prompt: string, target: Target & { continues: boolean }): string[];
  /** The calls of its tools. */
  read(file: string): Call;
  shell(command: string): Call;
  edit(file: string, from: string, to: string): Call;
}

/** The gateway and the folder that the settings of an agent name. */
interface Target {
  /** The address of the gateway without `/api`. */
  url: string;
  key: string;
  model: string;
  /** The home folder of the agent. */
  home: string;
}

export const npmAgents: readonly NpmAgent[] = [
  {
    title: 'Gemini CLI',
    isInCi: true,
    variable: 'HEADGATE_TEST_GEMINI_CLI',
    name: 'gemini',
    module: '@google/gemini-cli',
    version: '0.61.0',
    files: () => ({
      '.gemini/settings.json': {
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
      },
    }),
    env: ({ url, key }) => ({
      GOOGLE_GEMINI_BASE_URL: `${url}/api`,
      GEMINI_API_KEY: key,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
    }),
    parameters: (prompt, { model, continues }) => [
      ...(continues ? ['--resume', 'latest'] : []),
      ...['--model', model, '--approval-mode', 'yolo', '--output-format', 'json', '--prompt', prompt],
    ],
    read: (file) => ({ name: 'read_file', input: { file_path: file } }),
    shell: (command) => ({ name: 'run_shell_command', input: { command, description: 'Runs' } }),
    edit: (file, from, to) => ({
      name: 'replace',
      input: { file_path: file, old_string: from, new_string: to, instruction: 'Replace it.' },
    }),
  },
  {
    title: 'Qwen Code',
    isInCi: true,
    variable: 'HEADGATE_TEST_QWEN_CODE',
    name: 'qwen',
    module: '@qwen-code/qwen-code',
    version: '0.24.4',
    files: () => ({
      '.qwen/settings.json': {
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false },
      },
    }),
    env: ({ url, key, model }) => ({
      OPENAI_BASE_URL: `${url}/api/v1`,
      OPENAI_API_KEY: key,
      OPENAI_MODEL: model,
    }),
    parameters: (prompt, { continues }) => [
      ...(continues ? ['--continue'] : []),
      ...['--auth-type', 'openai', '--approval-mode', 'yolo', '--output-format', 'stream-json', '--prompt', prompt],
    ],
    read: (file) => ({ name: 'read_file', input: { file_path: file } }),
    shell: (command) => ({ name: 'run_shell_command', input: { command, is_background: false } }),
    edit: (file, from, to) => ({ name: 'edit', input: { file_path: file, old_string: from, new_string: to } }),
  },
  {
    title: 'pi',
    isInCi: true,
    variable: 'HEADGATE_TEST_PI',
    name: 'pi',
    module: '@mariozechner/pi-coding-agent',
    version: '0.73.1',
    files: ({ url, model }) => ({
      '.pi/agent/models.json': {
        providers: {
          headgate: {
            baseUrl: `${url}/api/v1`,
            api: 'openai-completions',
            apiKey: 'HEADGATE_KEY',
            models: [{ id: model, reasoning: true }],
          },
        },
      },
    }),
    env: ({ key }) => ({ HEADGATE_KEY: key, PI_OFFLINE: '1', PI_TELEMETRY: '0' }),
    parameters: (prompt, { model, continues }) => [
      ...(continues ? ['--continue'] : []),
      ...['--print', '--mode', 'json', '--provider', 'headgate', '--model', model, prompt],
    ],
    read: (file) => ({ name: 'read', input: { path: file } }),
    shell: (command) => ({ name: 'bash', input: { command } }),
    edit: (file, from, to) => ({ name: 'edit', input: { path: file, edits: [{ oldText: from, newText: to }] } }),
  },
  {
    title: 'OpenClaw',
    isInCi: false,
    variable: 'HEADGATE_TEST_OPENCLAW',
    name: 'openclaw',
    module: 'openclaw',
    version: '2026.9.6',
    files: ({ url, model }) => ({
      '.openclaw/openclaw.json': {
        models: {
          providers: {
            headgate: {
              baseUrl: `${url}/api/v1`,
              // biome-ignore lint/suspicious/noTemplateCurlyInString: OpenClaw replaces it
              apiKey: '${HEADGATE_KEY}',
              api: 'openai-completions',
              models: [{ id: model, name: model }],
            },
          },
        },
        agents: { defaults: { model: { primary: `headgate/${model}` } } },
      },
    }),
    env: ({ key }) => ({ HEADGATE_KEY: key }),
    parameters: (prompt) => ['agent', '--local', '--session-id', 'greeting', '--message', prompt, '--json'],
    read: (file) => ({ name: 'read', input: { path: file } }),
    shell: (command) => ({ name: 'exec', input: { command } }),
    edit: (file, from, to) => ({ name: 'edit', input: { path: file, edits: [{ oldText: from, newText: to }] } }),
  },
  {
    title: 'Cline',
    isInCi: false,
    startsOnly: true,
    variable: 'HEADGATE_TEST_CLINE',
    name: 'cline',
    module: 'cline',
    version: '3.0.65',
    files: ({ url, key, model }) => ({
      '.cline/data/settings/providers.json': {
        version: 1,
        providers: {
          'openai-compatible': {
            settings: { provider: 'openai-compatible', apiKey: key, model, baseUrl: `${url}/api/v1` },
            updatedAt: '2026-11-29T00:00:00.000Z',
          },
        },
      },
    }),
    env: () => ({ CLINE_SESSION_BACKEND_MODE: 'local' }), // otherwise it leaves a process behind
    parameters: (prompt) => ['--json', '--provider', 'openai-compatible', prompt],
    read: (file) => ({ name: 'read_files', input: { files: [{ path: file }] } }),
    shell: (command) => ({ name: 'run_commands', input: { commands: [command] } }),
    edit: (file, from, to) => ({ name: 'run_commands', input: { commands: [`sed -i s/${from}/${to}/ ${file}`] } }),
  },
  {
    title: 'Copilot CLI',
    isInCi: false,
    variable: 'HEADGATE_TEST_COPILOT',
    name: 'copilot',
    module: '@github/copilot',
    version: '1.0.102',
    files: () => ({}),
    env: ({ url, key, model }) => ({
      COPILOT_PROVIDER_TYPE: 'openai',
      COPILOT_PROVIDER_BASE_URL: `${url}/api/v1`,
      COPILOT_PROVIDER_API_KEY: key,
      COPILOT_MODEL: model,
      COPILOT_OFFLINE: 'true',
    }),
    parameters: (prompt, { continues }) => [
      ...(continues ? ['--continue'] : []),
      ...['--allow-all', '--output-format', 'json', '--prompt', prompt],
    ],
    read: (file) => ({ name: 'view', input: { path: file } }),
    shell: (command) => ({ name: 'bash', input: { command, description: 'Runs' } }),
    edit: (file, from, to) => ({ name: 'edit', input: { path: file, old_str: from, new_str: to } }),
  },
  {
    title: 'Continue',
    isInCi: false,
    variable: 'HEADGATE_TEST_CONTINUE',
    name: 'cn',
    module: '@continuedev/cli',
    version: '1.5.47',
    files: ({ url, key, model }) => ({
      'continue.yaml': {
        name: 'Headgate',
        version: '1.0.0',
        schema: 'v1',
        models: [
          { name: 'Headgate', provider: 'openai', model, apiBase: `${url}/api/v1`, apiKey: key, roles: ['chat'] },
        ],
      },
    }),
    env: () => ({ CONTINUE_TELEMETRY_ENABLED: '0', FORCE_NO_TTY: '1' }),
    parameters: (prompt, { home, continues }) => [
      ...(continues ? ['--resume'] : []),
      ...['--config', join(home, 'continue.yaml'), '--auto', '--format', 'json', '-p', prompt],
    ],
    read: (file) => ({ name: 'Read', input: { filepath: file } }),
    shell: (command) => ({ name: 'Bash', input: { command } }),
    edit: (file, from, to) => ({ name: 'Bash', input: { command: `sed -i s/${from}/${to}/ ${file}` } }),
  },
];

/** A seat of an agent of the table. */
export class NpmSeat extends AgentSeat {
  private readonly agent: NpmAgent;

  constructor(program: string, agent: NpmAgent) {
    super(program);
    this.agent = agent;
  }

  /** Runs it with a prompt. */
  exec({ gateway, model }: BackEnd, prompt: string, { continues = false } = {}): Promise<AgentRun<object>> {
    const target = { url: gateway.url, key: gateway.key, model, home: this.home };
    for (const [path, content] of Object.entries(this.agent.files(target))) {
      const file = join(this.home, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify(content)); // JSON is YAML, too
    }
    return this.run(this.agent.parameters(prompt, { ...target, continues }), this.agent.env(target));
  }
}
