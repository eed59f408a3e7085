import { readFileSync } from 'node:fs';

const file = new URL('../../package.json', import.meta.url);
const manifest = JSON.parse(readFileSync(file, 'utf8')) as { version: string; engines: { node: string } };

/** The version of Headgate. */
export const { version } = manifest;

/** Options that print it. */
export const versionFlags: readonly string[] = ['-v', '--version'];

/** The oldest major version of Node that Headgate runs on. */
export const minimumNode = Number.parseInt(manifest.engines.node.replace('>=', ''), 10);
