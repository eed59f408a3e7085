/**
 * Whoever batches are pushed to: chunks, events, pieces of a body. Pushing costs a call for each batch, where a chain of
 * async iterators costs several promises for each link.
 */
export interface Sink<Item> {
  /**
   * Takes the next batch, in order.
   *
   * @returns a promise when the next batch must wait until it is fulfilled: so a slow client slows the provider down
   * @throws what is wrong with the batch; whoever pushes then stops
   */
  write(batch: Item[]): Promise<void> | undefined;
}
