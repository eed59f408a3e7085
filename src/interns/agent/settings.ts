import { readFileSync } from 'node:fs';

/** Settings that the gateway passes to an agent. @see docs/reference/intern-runtimes.md#environment */
export interface AgentSettings {
  baseUrl: string;
  apiKey: string;
  /** Absent: the default of the workspace. */
  model: string | undefined;
  instructions: string;
  port: number;
  /** Callers of the control endpoints have it. */
  token: string;
  home: string;
  /** HTTP proxy, the only network access. */
  proxy: URL | undefined;
}

/** Reads the environment, and removes the token from it, so that commands do not inherit it. */
export function readAgentSettings(environment: NodeJS.ProcessEnv): AgentSettings {
  const need = (name: string): string => {
    const value = environment[name];
    if (!value) throw new Error(`The variable ${name} is not set.`);
    return value;
  };
  const path = environment.HEADGATE_INSTRUCTIONS;
  const settings = {
    baseUrl: need('HEADGATE_BASE_URL'),
    apiKey: need('HEADGATE_API_KEY'),
    model: environment.HEADGATE_MODEL || undefined,
    instructions: path ? readFileSync(path, 'utf8') : '',
    port: Number(need('PORT')),
    token: need('HEADGATE_TOKEN'),
    home: need('HOME'),
    proxy: environment.HTTP_PROXY ? new URL(environment.HTTP_PROXY) : undefined,
  };
  delete environment.HEADGATE_TOKEN;
  return settings;
}
