/** A small package of the AI SDK for tests: its models return the parts in their settings. */
export interface FakeSettings {
  apiKey?: string;
  /** Model name → parts. An `Error` is thrown instead. `silence` never ends. */
  models: Record<string, unknown[] | Error | 'silence'>;
  /** Receives the call options. */
  asked: Record<string, unknown>[];
}

export function createFakePackage({ models, asked, apiKey }: FakeSettings) {
  return (name: string) => ({
    specificationVersion: name === 'old' ? 'v1' : 'v4',
    doStream: async (options: Record<string, unknown>) => {
      asked.push({ ...options, apiKey });
      const parts = models[name];
      if (parts instanceof Error) throw parts;
      const stream = new ReadableStream({
        start(controller) {
          for (const part of Array.isArray(parts) ? parts : []) controller.enqueue(part);
          if (parts !== 'silence') controller.close();
        },
      });
      return { stream };
    },
  });
}
