import { request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

/** Maximum size of the headers with which a proxy responds to CONNECT. */
const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Creates a connector that reaches every host through an HTTP proxy, with CONNECT. The proxy sees the host and no content
 * of TLS connections.
 *
 * @param proxy the URL of the proxy; its credentials are sent to the proxy only
 * @param connectMs for the connection to the proxy and through it together
 */
export function buildTunnel(proxy: URL, connectMs: number): buildConnector.connector {
  const connectTls = buildConnector({ allowH2: false, timeout: connectMs });
  const request = proxy.protocol === 'https:' ? secureRequest : plainRequest;
  const authorization =
    proxy.username === ''
      ? undefined
      : `Basic ${Buffer.from(`${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`).toString('base64')}`;

  return (options, callback) => {
    const { hostname, protocol, port } = options;
    const host = `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;
    const sent = request({
      host: proxy.hostname.replace(/^\[|\]$/g, ''),
      port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
      method: 'CONNECT',
      path: host,
      headers: { host, ...(authorization !== undefined && { 'proxy-authorization': authorization }) },
      agent: false,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
    const fail = (error: Error): void => {
      sent.destroy();
      callback(error, null);
    };
    const slow = () => sent.destroy(createError('UND_ERR_CONNECT_TIMEOUT', 'The proxy did not respond.'));
    const timer = setTimeout(slow, connectMs); // a proxy that sends a byte at times is not idle
    sent.once('error', fail);
    sent.once('response', ({ statusCode }) => fail(refusal(statusCode)));
    sent.once('close', () => clearTimeout(timer));
    sent.once('connect', ({ statusCode = 0 }, socket: Socket, head) => {
      clearTimeout(timer);
      sent.removeListener('error', fail);
      if (statusCode !== 200) {
        socket.destroy();
        callback(refusal(statusCode), null);
        return;
      }
      // The provider says nothing before it is asked, so these bytes are those of a portal or of a broken proxy.
      if (head.length > 0) {
        socket.destroy();
        callback(createError(PROXY_REFUSED, 'The proxy sent data after its response to CONNECT.'), null);
        return;
      }
      if (protocol === 'https:') connectTls({ ...options, httpSocket: socket }, callback);
      else callback(null, socket);
    });
    sent.end();
  };
}

/** The code of a failure for which the provider is not responsible. */
export const PROXY_REFUSED = 'ERR_PROXY_REFUSED';

const refusal = (status: number | undefined): Error =>
  createError(PROXY_REFUSED, `The proxy responded to CONNECT with the status ${status ?? 'unknown'}.`);

const createError = (code: string, message: string): Error => Object.assign(new Error(message), { code });
