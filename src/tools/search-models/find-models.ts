/** A model as the tool shows it. Wire shape. */
export interface FoundModel {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Null: unknown. */
  readonly context_length: number | null;
  readonly input_modalities: readonly string[];
  readonly output_modalities: readonly string[];
  /** The author in the slug. */
  readonly series: string;
}

export interface ModelSearch {
  readonly query?: string;
  readonly input_modalities?: readonly string[];
  readonly output_modalities?: readonly string[];
  readonly min_context_length?: number;
  readonly series?: string;
}

/** Maximum words of a query. Each is compared with every model. */
const MAX_WORDS = 20;

/** Finds the models that have all words of the query. Those with the words in their name come first. */
export function findModels(models: readonly FoundModel[], search: ModelSearch): FoundModel[] {
  const words = (search.query ?? '').toLowerCase().split(/\s+/).filter(Boolean).slice(0, MAX_WORDS);
  const fitting = models.filter((model) => fits(model, search));
  const named = fitting.filter((model) => hasWords(`${model.id} ${model.name}`, words));
  const names = new Set(named);
  const described = fitting.filter(
    (model) => !names.has(model) && hasWords(`${model.id} ${model.name} ${model.description}`, words),
  );
  return [...named, ...described];
}

function fits(model: FoundModel, search: ModelSearch): boolean {
  const { input_modalities: reads = [], output_modalities: writes = [], min_context_length: minimum, series } = search;
  return (
    reads.every((modality) => model.input_modalities.includes(modality.toLowerCase())) &&
    writes.every((modality) => model.output_modalities.includes(modality.toLowerCase())) &&
    (minimum === undefined || (model.context_length ?? 0) >= minimum) &&
    (series === undefined || model.series.toLowerCase() === series.toLowerCase())
  );
}

function hasWords(text: string, words: readonly string[]): boolean {
  const lower = text.toLowerCase();
  return words.every((word) => lower.includes(word));
}
