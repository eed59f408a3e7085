import { expect } from 'vitest';
import type { RequestOptions, TestGateway } from '../../src/testing/test-gateway.ts';

/** A streamed answer that is read as it comes. */
export interface OpenStream {
  response: Response;
  /** All that has come so far. */
  readonly text: string;
  /** Reads on until the text holds this. @throws when the stream ends before */
  readUntil(mark: string | RegExp): Promise<string>;
  /** Reads to the end. */
  readAll(): Promise<string>;
  /** Leaves. */
  leave(): void;
}

/** Asks for a stream and gives it as soon as its headers are there. */
export async function openStream(
  gateway: TestGateway,
  body: object,
  options: RequestOptions = {},
): Promise<OpenStream> {
  const client = new AbortController();
  const response = await gateway.post(
    '/responses',
    { input: 'Say hello.', ...body, stream: true },
    { ...options, signal: client.signal },
  );
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  async function readMore(): Promise<boolean> {
    const { done, value } = await reader.read();
    text += value ?? '';
    return !done;
  }
  return {
    response,
    get text() {
      return text;
    },
    async readUntil(mark) {
      const isThere = () => (typeof mark === 'string' ? text.includes(mark) : mark.test(text));
      while (!isThere()) if (!(await readMore())) expect.fail(`The stream ended without ${mark}: ${text}`);
      return text;
    },
    async readAll() {
      while (await readMore());
      return text;
    },
    leave() {
      client.abort();
    },
  };
}

/** A gate that a test opens. */
export function gate(): { opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}
