import type { SandboxLimits } from './sandbox.ts';

/** Says that processes of ended commands were killed because they used up the limit. */
export const describeKilled = ({ processes }: Pick<SandboxLimits, 'processes'>): string =>
  `The processes that earlier commands had left were killed, because they used nearly all ${processes} processes and threads of the container.`;
