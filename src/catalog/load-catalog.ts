import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import codingScores from './builtin/coding-scores.json' with { type: 'json' };
import embeddings from './builtin/embeddings.json' with { type: 'json' };
import openWeights from './builtin/open-weights.json' with { type: 'json' };
import images from './builtin/images.json' with { type: 'json' };
import proprietary from './builtin/proprietary.json' with { type: 'json' };
import simulator from './builtin/simulator.json' with { type: 'json' };
import { type CatalogFile, type CatalogRecords, checkCatalogFile, mergeCatalogFiles } from './records.ts';

/** The built-in catalog. A test checks each file with the schema. */
export const builtinFiles: readonly CatalogFile[] = [
  proprietary,
  openWeights,
  images,
  embeddings,
  simulator,
] as CatalogFile[];

/** The file of the data folder in which `headgate models refresh` keeps what it fetched. */
export const REFRESHED_FILE = 'catalog.json';

export interface CatalogSources {
  builtin: boolean;
  /** Absolute. */
  overrides?: string | undefined;
  dataDir: string;
}

/**
 * Merges the built-in records, the fetched ones and the operator's, in that order.
 *
 * @param warn called if the fetched file is invalid; it is then skipped
 * @throws {Error} if the operator's file is invalid; the message is for the operator
 */
export function loadCatalogRecords(sources: CatalogSources, warn: (message: string) => void): CatalogRecords {
  const files: CatalogFile[] = [];
  if (sources.builtin) {
    files.push(...builtinFiles, listCodingScores());
    const fetched = readFetched(join(sources.dataDir, REFRESHED_FILE), warn);
    if (fetched) files.push(fetched);
  }
  if (sources.overrides !== undefined) files.push(readOverrides(sources.overrides));
  return mergeCatalogFiles(files);
}

/** Models and the percentiles of their coding scores, as a file with the lowest precedence. */
function listCodingScores(): CatalogFile {
  const known = new Set(builtinFiles.flatMap(({ models = [] }) => models.map(({ id }) => id)));
  const percentiles = [...readPercentiles(codingScores.benchmarks)];
  return { models: percentiles.filter(([id]) => known.has(id)).map(([id, score]) => ({ id, coding_score: score })) };
}

/** Half a year. Older results say little about current models. */
const OLDEST_MS = 183 * 86_400_000;

interface Benchmark {
  as_of: string;
  scores: readonly { model: string; percent: number }[];
}

/**
 * Computes the rank of each model among all measured models: the share of them that it is at least as good as, in
 * percent. The newest benchmark that measured a model counts, because results of two benchmarks cannot be compared.
 * Benchmarks that ended half a year before the newest do not count.
 *
 * @param benchmarks the newest first
 */
export function readPercentiles(benchmarks: readonly Benchmark[]): Map<string, number> {
  const percentiles = new Map<string, number>();
  const newest = Math.max(...benchmarks.map((benchmark) => Date.parse(benchmark.as_of)));
  for (const { scores, as_of: asOf } of benchmarks) {
    if (Date.parse(asOf) < newest - OLDEST_MS) continue;
    for (const { model, percent } of scores) {
      if (percentiles.has(model)) continue;
      const others = scores.filter((other) => other.percent <= percent).length - 1;
      percentiles.set(model, Math.round((1000 * others) / Math.max(1, scores.length - 1)) / 10);
    }
  }
  return percentiles;
}

function readFetched(path: string, warn: (message: string) => void): CatalogFile | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return undefined; // it was never fetched
  }
  try {
    const tree: unknown = JSON.parse(text);
    const [problem] = checkCatalogFile(tree);
    if (problem === undefined) return tree as CatalogFile; // it has no problems
    warn(`${path} is skipped: ${problem}. "headgate models refresh" replaces it.`);
  } catch (error) {
    // JSON.parse throws an Error
    warn(`${path} is skipped: ${(error as Error).message}. "headgate models refresh" replaces it.`);
  }
  return undefined;
}

function readOverrides(path: string): CatalogFile {
  let tree: unknown;
  try {
    tree = parse(readFileSync(path, 'utf8')) ?? {};
  } catch (error) {
    // both calls throw an Error
    throw new Error(`catalog.overrides: ${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  const problems = checkCatalogFile(tree);
  if (problems.length === 0) return tree as CatalogFile; // it has no problems
  throw new Error(`catalog.overrides: ${path}: ${problems.slice(0, 10).join('; ')}`);
}
