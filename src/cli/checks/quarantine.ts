import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { docsUrl } from '../../domain/docs-url.ts';
import { QUARANTINE_FILE } from '../../metering/store-entries.ts';
import type { Finding } from './finding.ts';

/** Checks for quarantined lines of the ledger's journal. Returns nothing if there are none. */
export async function checkQuarantine(dataDir: string): Promise<Finding[]> {
  const path = join(dataDir, 'journal', QUARANTINE_FILE);
  const text = await readFile(path, 'utf8').catch(() => '');
  const lines = text.split('\n').filter((line) => line !== '').length;
  if (lines === 0) return [];
  return [
    {
      status: 'warn',
      subject: 'ledger',
      says: `${lines} ${lines === 1 ? 'line' : 'lines'} of its journal are quarantined: ${path}`,
      fix: `The log has the reason. ${docsUrl('guides/money')} explains how to store the lines. Move the file away afterwards.`,
    },
  ];
}
