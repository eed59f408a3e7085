import pg from 'pg';

/** A client whose questions end. Limits come with the class, since the pool makes its clients itself. */
export type TimeoutClient = new (config?: string | pg.ClientConfig) => pg.Client;

/**
 * A network that falls silent breaks no connection: TCP gives up after a quarter of an hour, and whoever asks meanwhile
 * waits behind a question that has no answer. A client of this kind ends its connection when the server has said nothing
 * for so long; the pool makes another one.
 */
export function createTimeoutClient(limitMs: number): TimeoutClient {
  return class extends pg.Client {
    // One of the driver's many ways to call it, which are all passed on as they came.
    override query(...question: unknown[]): never {
      const asked: unknown = Reflect.apply(super.query, this, question);
      return (asked instanceof Promise ? this.wait(asked) : asked) as never;
    }

    private async wait<Answer>(asked: Promise<Answer>): Promise<Answer> {
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        this.end().catch(() => {}); // with a question open, it breaks the connection off
      }, limitMs);
      try {
        return await asked;
      } catch (cause) {
        if (!isLate) throw cause;
        throw new Error(`PostgreSQL said nothing for ${limitMs} ms.`, { cause });
      } finally {
        clearTimeout(timer);
      }
    }
  };
}
