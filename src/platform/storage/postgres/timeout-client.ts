import pg from 'pg';

/** Creates a client class with a time limit. The limit is part of the class, because the pool creates the clients. */
export type TimeoutClient = new (config?: string | pg.ClientConfig) => pg.Client;

/**
 * Creates a client class that ends its connection if the server sends nothing for this long. The pool then opens
 * another connection. A network that drops packets does not close a connection: TCP gives up after a quarter of an
 * hour, and later queries wait behind one without a response.
 */
export function createTimeoutClient(limitMs: number): TimeoutClient {
  return class extends pg.Client {
    // The driver has many overloads. All arguments are passed on unchanged.
    override query(...question: unknown[]): never {
      const asked: unknown = Reflect.apply(super.query, this, question);
      return (asked instanceof Promise ? this.wait(asked) : asked) as never;
    }

    private async wait<Answer>(asked: Promise<Answer>): Promise<Answer> {
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        this.end().catch(() => {}); // closes the connection at once, because a query is in flight
      }, limitMs);
      try {
        return await asked;
      } catch (cause) {
        if (!isLate) throw cause;
        throw new Error(`PostgreSQL sent nothing for ${limitMs} ms.`, { cause });
      } finally {
        clearTimeout(timer);
      }
    }
  };
}
