import { MessageChannel } from 'node:worker_threads';
import type { Channel } from '../platform/cluster/channel.ts';

/** Two ends of a channel within this process. Messages are cloned as between processes. */
export function openChannelPair(): { ends: [Channel, Channel]; close(): void } {
  const { port1, port2 } = new MessageChannel();
  const [one, two] = [port1, port2].map(
    (port): Channel => ({
      send: (message) => port.postMessage(message),
      onMessage: (take) => void port.on('message', take),
      onClose: (tell) => void port.once('close', tell),
    }),
  );
  return { ends: [one!, two!], close: () => port1.close() };
}
