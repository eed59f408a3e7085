import { truncateName } from '../../domain/truncate-name.ts';
import type { Provider } from '../../providers/provider.ts';

/**
 * Cleans a name that a provider sent: masks the operator's keys, which some providers repeat, and truncates it to 200
 * characters.
 * Names are copied into the response, the ledger, the metadata and traces.
 */
export const cleanName = (name: string, provider: Provider): string => truncateName(provider.maskKeys(name));

/**
 * Cleans, in place, the names and texts in unknown fields of a provider's response.
 *
 * @returns the fields in which a text was truncated
 */
export function cleanFields(fields: Record<string, unknown>, provider: Provider): string[] {
  const cut: string[] = [];
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    const holder: Record<string, unknown> = { value };
    if (cleanInside(holder, provider)) cut.push(cleanName(name, provider));
    const cleaned = cleanName(name, provider);
    if (cleaned !== name) delete fields[name];
    fields[cleaned] = holder['value'];
  }
  return cut;
}

/** Not recursive, because the provider controls the depth of the value. */
function cleanInside(root: Record<string, unknown>, provider: Provider): boolean {
  let isCut = false;
  const open = [root];
  for (let holder = open.pop(); holder; holder = open.pop()) {
    for (const name of Object.keys(holder)) {
      let value = holder[name];
      if (typeof value === 'string') {
        const masked = provider.maskKeys(value);
        value = truncateName(masked);
        isCut ||= value !== masked;
      } else if (typeof value === 'object' && value !== null) open.push(value as Record<string, unknown>);
      const cleaned = Array.isArray(holder) ? name : cleanName(name, provider);
      if (cleaned !== name) delete holder[name];
      if (cleaned !== name || value !== holder[name]) holder[cleaned] = value;
    }
  }
  return isCut;
}
