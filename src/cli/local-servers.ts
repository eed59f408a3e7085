/** A program that serves models on this machine, where it listens when nobody told it otherwise. */
export interface LocalServer {
  id: string;
  name: string;
  /** Up to the version. */
  baseUrl: string;
}

export interface FoundServer extends LocalServer {
  /** Ids of the models it lists; may be empty. */
  models: string[];
}

export const localServers: readonly LocalServer[] = [
  { id: 'ollama', name: 'Ollama', baseUrl: 'http://127.0.0.1:11434/v1' },
  { id: 'lmstudio', name: 'LM Studio', baseUrl: 'http://127.0.0.1:1234/v1' },
  { id: 'llamacpp', name: 'llama.cpp', baseUrl: 'http://127.0.0.1:8080/v1' },
  { id: 'vllm', name: 'vLLM', baseUrl: 'http://127.0.0.1:8000/v1' },
];

/** Asks each for its models, once and briefly. What is silent, slow or lists no models is not one. */
export async function findLocalServers(servers: readonly LocalServer[], timeoutMs = 800): Promise<FoundServer[]> {
  const answers = await Promise.all(servers.map((server) => askForModels(server, timeoutMs)));
  return answers.filter((answer) => answer !== undefined);
}

async function askForModels(server: LocalServer, timeoutMs: number): Promise<FoundServer | undefined> {
  try {
    const answer = await fetch(`${server.baseUrl}/models`, {
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'error',
    });
    const body: unknown = await answer.json();
    if (!answer.ok || typeof body !== 'object' || body === null || !('data' in body) || !Array.isArray(body.data)) {
      return undefined;
    }
    const list: unknown[] = body.data;
    const models = list.flatMap((model) =>
      typeof model === 'object' && model !== null && 'id' in model && typeof model.id === 'string' ? [model.id] : [],
    );
    return { ...server, models };
  } catch {
    return undefined;
  }
}
