import type { Sink } from '../domain/sink.ts';

/** Reads batches on demand. */
export interface Pull<Item> {
  /** @returns the next batch, or undefined at the end; rejects like `each` */
  read(): Promise<Item[] | undefined>;
}

/** Converts a push source to a pull source, so that a test decides when a batch is read. */
export function pull<Item>(source: { each(sink: Sink<Item>): Promise<void> }): Pull<Item> {
  const batches: Item[][] = [];
  let isStarted = false;
  let over: Promise<void> | undefined;
  let tell: (() => void) | undefined;
  let goOn: (() => void) | undefined;

  const sink: Sink<Item> = {
    write(batch) {
      batches.push(batch);
      tell?.();
      return new Promise((resolve) => {
        goOn = resolve;
      });
    },
  };
  return {
    async read() {
      if (!isStarted) {
        isStarted = true;
        over = source.each(sink);
        over.catch(() => {});
      } else goOn?.();
      const arrived = new Promise<void>((resolve) => {
        tell = resolve;
      });
      if (batches.length === 0) await Promise.race([arrived, over]);
      return batches.shift();
    },
  };
}
