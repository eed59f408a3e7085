import type { OutputItem } from '../../domain/items.ts';

interface Logprob {
  token: string;
  logprob: number;
  top_logprobs?: readonly Logprob[];
}

const write = ({ token, logprob }: Logprob) => ({ token, logProbability: logprob });

/** Writes the log probabilities of a response, as fields of its candidate. @returns undefined if there are none */
export function writeLogprobs(output: readonly OutputItem[]): object | undefined {
  const all = output.flatMap((item) =>
    item.type === 'message' && Array.isArray(item['content'])
      ? (item['content'] as { logprobs?: Logprob[] }[]).flatMap(({ logprobs }) => logprobs ?? [])
      : [],
  );
  if (all.length === 0) return undefined;
  const tops = all.map(({ top_logprobs: others = [] }) => ({ candidates: others.map(write) }));
  return {
    avgLogprobs: all.reduce((sum, { logprob }) => sum + logprob, 0) / all.length,
    logprobsResult: {
      ...(tops.some(({ candidates }) => candidates.length > 0) && { topCandidates: tops }),
      chosenCandidates: all.map(write),
    },
  };
}
