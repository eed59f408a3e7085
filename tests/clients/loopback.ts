import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** Records every address that this process sends requests to, with any client. */
export function watchTraffic(): { strangers: string[]; stop(): void } {
  const strangers: string[] = [];
  const note = (host: string) => {
    if (!/^(127\.0\.0\.1|localhost|\[::1\])$/.test(host)) strangers.push(host);
  };
  // Documented messages: the first of undici, which is also the built-in fetch, the second of node:http and node:https.
  const onFetch = (message: unknown) =>
    note(new URL((message as { request: { origin: string } }).request.origin).hostname);
  const onHttp = (message: unknown) => note((message as { request: { host: string } }).request.host);
  subscribe('undici:request:create', onFetch);
  subscribe('http.client.request.created', onHttp);
  return {
    strangers,
    stop() {
      unsubscribe('undici:request:create', onFetch);
      unsubscribe('http.client.request.created', onHttp);
    },
  };
}
