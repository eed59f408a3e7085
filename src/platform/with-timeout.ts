/**
 * Waits at most this long for work, which continues after a timeout.
 *
 * @throws the error of `work`, or an error if there was no response in time
 */
export async function withTimeout<Value>(limitMs: number, work: Promise<Value>): Promise<Value> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`There was no response within ${limitMs} ms.`)), limitMs);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
