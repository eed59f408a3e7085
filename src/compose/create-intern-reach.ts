import type { Config } from '../config/schema.ts';
import { READS_FILES, type Reach } from '../domain/reach.ts';
import { compileHostList } from '../platform/egress/host-list.ts';

/** Creates the limits of interns, as the configuration has them at each request. */
export function createInternReach(config: () => Config): Reach {
  let compiled: { from: Config['interns']; tools: ReadonlySet<string>; hosts: (host: string) => boolean } | undefined;
  const read = () => {
    const { interns: from } = config();
    if (compiled?.from !== from) {
      compiled = { from, tools: new Set(from.tools), hosts: compileHostList(from.allowed_domains) };
    }
    return compiled;
  };
  return {
    mayUse(name) {
      const { tools } = read();
      // A search reads the stored files, too.
      return tools.has(name) && (name !== 'router:file_search' || tools.has(READS_FILES));
    },
    mayOpen: (host) => read().hosts(host),
  };
}
