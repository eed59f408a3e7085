import type { RoutingStrategy } from '../domain/routing-strategy.ts';
import { Patterns } from './patterns.ts';

/** The strategies of models. Keys as in the file. */
export interface StrategyConfig {
  strategy: RoutingStrategy;
  /** `*` in the slug matches any text. The first match applies. */
  models: readonly { model: string; strategy: RoutingStrategy }[];
}

/** Returns the strategy of a model by its slug. */
export type StrategyTable = (model: string) => RoutingStrategy;

export function createStrategyTable({ strategy: usual, models }: StrategyConfig): StrategyTable {
  if (models.length === 0) return () => usual;
  const rows = models.map(({ model, strategy }) => ({ patterns: new Patterns([model]), strategy }));
  return (model) =>
    rows.find(({ patterns }) => patterns.matches({ id: model, canonicalSlug: model }))?.strategy ?? usual;
}
