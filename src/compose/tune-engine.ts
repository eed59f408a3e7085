import { setFlagsFromString } from 'node:v8';

/**
 * Lets V8 optimize a function after 1,000 calls instead of 3,000. Most functions of the request path run once per
 * request, so a process reaches its full speed after a third of the requests. Measured after 5 to 20 seconds of full
 * load: a fifth less CPU per streamed response. The final speed is the same.
 */
export function optimizeEarly(): void {
  setFlagsFromString('--invocation-count-for-turbofan=1000');
}
