import { readFileSync } from 'node:fs';

/** Settings that the gateway passes to an agent. @see docs/reference/intern-runtimes.md#environment */
export interface AgentSettings {
  baseUrl: string;
  apiKey: string;
  /** Absent: the default of the workspace. */
  model: string | undefined;
  instructions: string;
  port: number;
  /** The key of the gateway, which signs requests to the control endpoints. */
  controlKey: string;
  /** The key of the gateway for replies. */
  replyKey: string;
  home: string;
  /** HTTP proxy, the only network access. */
  proxy: URL | undefined;
}

export function readAgentSettings(environment: NodeJS.ProcessEnv): AgentSettings {
  const need = (name: string): string => {
    const value = environment[name];
    if (!value) throw new Error(`The variable ${name} is not set.`);
    return value;
  };
  const path = environment.HEADGATE_INSTRUCTIONS;
  return {
    baseUrl: need('HEADGATE_BASE_URL'),
    apiKey: need('HEADGATE_API_KEY'),
    model: environment.HEADGATE_MODEL || undefined,
    instructions: path ? readFileSync(path, 'utf8') : '',
    port: Number(need('PORT')),
    controlKey: need('HEADGATE_CONTROL_KEY'),
    replyKey: need('HEADGATE_REPLY_KEY'),
    home: need('HOME'),
    proxy: environment.HTTP_PROXY ? new URL(environment.HTTP_PROXY) : undefined,
  };
}
