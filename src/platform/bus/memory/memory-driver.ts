import type { BusDriver, MessageReceiver } from '../bus.ts';

/** Buses in one process. A gateway that runs alone is the only member of its network. */
export interface MemoryNetwork {
  join(): BusDriver;
}

export function createMemoryNetwork(): MemoryNetwork {
  const members = new Map<BusDriver, MessageReceiver>();
  return {
    join() {
      const member: BusDriver = {
        send(topic, message) {
          if (!members.has(member) || members.size === 1) return;
          const text = JSON.stringify(message);
          for (const other of members.keys()) {
            // Receivers get a separate copy, in a later turn, as from another process.
            if (other !== member) setImmediate(() => members.get(other)?.(topic, JSON.parse(text)));
          }
        },
        receive: (receiver) => void members.set(member, receiver),
        async close() {
          members.delete(member);
        },
      };
      members.set(member, () => {});
      return member;
    },
  };
}
