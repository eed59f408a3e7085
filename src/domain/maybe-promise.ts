/** A value, or a promise of it if it comes from another process: a lone process then never waits for itself. */
export type MaybePromise<Value> = Value | Promise<Value>;
