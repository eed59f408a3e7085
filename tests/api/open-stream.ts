import { expect } from 'vitest';
import type { RequestOptions, TestGateway } from '../../src/testing/test-gateway.ts';

/** A streamed response that is read as it arrives. */
export interface OpenStream {
  response: Response;
  /** Everything that has arrived so far. */
  readonly text: string;
  /** Reads until the text contains this. @throws if the stream ends before */
  readUntil(mark: string | RegExp): Promise<string>;
  /** Reads to the end. */
  readAll(): Promise<string>;
  /** Disconnects. */
  leave(): void;
}

/** Requests a stream and returns it as soon as its headers arrive. */
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
