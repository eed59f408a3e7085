import { readFileSync } from 'node:fs';

const file = new URL('../../package.json', import.meta.url);

/** Of the package, as in its package.json. */
export const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
