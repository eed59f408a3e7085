import type { SearchDriver } from '../search-driver.ts';
import { brave } from './brave.ts';
import { exa } from './exa.ts';
import { firecrawl } from './firecrawl.ts';
import { parallel } from './parallel.ts';
import { perplexity } from './perplexity.ts';
import { searxng } from './searxng.ts';
import { serper } from './serper.ts';
import { tavily } from './tavily.ts';

const drivers = { searxng, brave, exa, tavily, serper, perplexity, firecrawl, parallel } satisfies Record<
  string,
  SearchDriver
>;

/** Every driver of this build, by the name that the configuration uses. */
export const searchDrivers: Readonly<Record<keyof typeof drivers, SearchDriver>> = drivers;
