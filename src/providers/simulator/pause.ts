/** Waits `ms` milliseconds, or forever if it is undefined. @throws the reason of the signal when it fires */
export function pause(ms: number | undefined, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const onTime = () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    };
    const timer = ms === undefined ? undefined : setTimeout(onTime, ms);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
