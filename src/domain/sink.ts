/**
 * A sink, to which batches are pushed: chunks, events, pieces of a body. Pushing costs one call per batch, whereas a
 * chain of async iterators costs several promises per link.
 */
export interface Sink<Item> {
  /**
   * Writes the next batch, in order.
   *
   * @returns a promise if the next batch must wait until it is fulfilled; a slow client thereby slows down the provider
   * @throws the problem of the batch; the writer then stops
   */
  write(batch: Item[]): Promise<void> | undefined;
}
