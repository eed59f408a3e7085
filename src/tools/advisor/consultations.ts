import { type InputItem, nameInstance } from '../../domain/items.ts';

/** An earlier question to an advisor, and its advice. */
export interface Consultation {
  readonly prompt: string;
  readonly advice: string;
}

/**
 * Finds the consultations of one advisor in a conversation.
 *
 * @param name the function of the first advisor
 * @param instance position of the advisor among the entries of the request
 */
export function findConsultations(items: readonly InputItem[], name: string, instance: number): Consultation[] {
  const own = nameInstance(name, instance);
  return items.flatMap((item) => {
    if (item.type !== 'router:advisor') return [];
    const { prompt, advice, instance_name: instanceName = name } = item as Record<string, unknown>;
    if (instanceName !== own || typeof prompt !== 'string' || typeof advice !== 'string') return [];
    return [{ prompt, advice }];
  });
}

/** Writes consultations as a conversation. */
export const writeConsultations = (consultations: readonly Consultation[]): InputItem[] =>
  consultations.flatMap(({ prompt, advice }): InputItem[] => [
    { type: 'message', role: 'user', content: prompt },
    { type: 'message', role: 'assistant', content: advice },
  ]);
