import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { findFreePort } from '../../src/testing/free-port.ts';
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

/** The settings of a working folder. */
const writeSettings = (folder: string, { gateway, model }: BackEnd): void =>
  writeFileSync(
    join(folder, 'opencode.json'),
    JSON.stringify({
      provider: {
        gateway: {
          npm: '@ai-sdk/anthropic', // a part of the program
          name: 'Gateway',
          options: { baseURL: gateway.baseUrl, apiKey: gateway.key },
          models: { [model]: { name: 'Model', tool_call: true, limit: { context: 200_000, output: 8000 } } },
        },
      },
      enabled_providers: ['gateway'],
      small_model: `gateway/${model}`,
      autoupdate: false,
      share: 'disabled',
      permission: { '*': 'allow' },
      agent: { title: { disable: true } },
    }),
  );

const environment = {
  npm_config_registry: 'http://127.0.0.1:9', // it looks for updates of its plugins, and works without an answer
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
};

/** A seat of the coding agent opencode. */
export class OpencodeSeat extends AgentSeat {
  /** Runs it with a prompt. It reads its settings from the working folder. */
  exec(backEnd: BackEnd, prompt: string): Promise<AgentRun<OpencodeEvent>> {
    writeSettings(this.folder, backEnd);
    const model = `gateway/${backEnd.model}`;
    return this.run(['run', '--format', 'json', '--title', 'Test', '--model', model, prompt], environment);
  }
}

/** `opencode serve`: one process for many sessions. A start of the program takes five seconds of CPU time. */
export class OpencodeServer implements AsyncDisposable {
  private readonly seat: AgentSeat;
  private readonly url: Promise<string>;
  private readonly ended: Promise<AgentRun<object>>;
  private readonly abort = new AbortController();

  constructor(program: string) {
    this.seat = new AgentSeat(program);
    const port = findFreePort();
    this.ended = port.then((free) => this.seat.run(['serve', '--port', String(free)], environment, this.abort.signal));
    this.url = port.then(async (free) => {
      const url = `http://127.0.0.1:${free}`;
      // It may accept a connection before it serves, and then never answers it.
      const isUp = () =>
        fetch(`${url}/session`, { signal: AbortSignal.timeout(2000) }).then(
          () => true,
          (error) => String(error.cause),
        );
      await expect.poll(isUp).toBe(true);
      return url;
    });
  }

  /** Opens a session in a new working folder. */
  open(): OpencodeSession {
    const folder = mkdtempSync(join(this.seat.home, 'work-'));
    return new OpencodeSession(this.url, folder);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.abort.abort();
    await this.ended.catch(() => {}); // it was killed
    await this.seat[Symbol.asyncDispose]();
  }
}

/** A session of `opencode serve`. */
class OpencodeSession implements AsyncDisposable {
  readonly folder: string;
  private readonly url: Promise<string>;
  private id: string | undefined;

  constructor(url: Promise<string>, folder: string) {
    this.url = url;
    this.folder = folder;
  }

  /** Sends a prompt and waits for the end of the turn. The output is its last message. */
  async exec(backEnd: BackEnd, prompt: string): Promise<AgentRun<object>> {
    writeSettings(this.folder, backEnd);
    if (this.id === undefined) ({ id: this.id } = (await this.post('/session', { title: 'Test' })) as { id: string });
    const answer = (await this.post(`/session/${this.id}/message`, {
      model: { providerID: 'gateway', modelID: backEnd.model },
      parts: [{ type: 'text', text: prompt }],
    })) as { info: { error?: unknown } };
    const code = answer.info.error === undefined ? 0 : 1;
    return { code, events: [], stdout: JSON.stringify(answer), stderr: '', strangers: [] };
  }

  private async post(path: string, body: object): Promise<unknown> {
    const response = await fetch(`${await this.url}${path}?directory=${encodeURIComponent(this.folder)}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return response.json();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The folder is a part of the server's.
  }
}
