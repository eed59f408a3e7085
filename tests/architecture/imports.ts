import { posix } from 'node:path';

/*
 * Finds the imports of modules, and checks them. Works on texts, so that a test can invent sources.
 */

/** Path below the repository → text. */
export type Sources = ReadonlyMap<string, string>;

export interface Import {
  from: string;
  to: string;
  /** Whether the import is erased at run time. */
  isType: boolean;
  /** Whether it is loaded when the code runs, not with the module. */
  isDynamic: boolean;
}

/** Folder → the folders that it may import, separated by spaces. `x:types` allows types only, `*` all, `!x` none of `x`. */
export type Fence = Readonly<Record<string, string>>;

export interface Rules {
  /** Folders and files directly below `src/`. */
  folders: Fence;
  /** Folders that every folder may import. */
  everywhere: readonly string[];
  /** Folders in `folder`: those that may import each other, and nothing else of `folder` but its own files. */
  within: Readonly<Record<string, Fence>>;
  /** Folders whose subfolders never import one another, and the subfolders that all of them may import. */
  strangers: Readonly<Record<string, readonly string[]>>;
  /** Folders that may import adapters: what is below `platform/<port>/`, but in `ports/`. */
  adapterUsers: readonly string[];
}

/** A test or a helper of tests: these may import anything. */
const isTest = (path: string, text: string): boolean => /\.test\.ts$/.test(path) || /\sfrom 'vitest'/.test(text);

const importPattern =
  /(?:^|\n)\s*(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/g;

/** Lists the relative imports of all sources that are no tests. */
export function listImports(sources: Sources): Import[] {
  return [...sources].flatMap(([from, text]): Import[] => {
    if (isTest(from, text)) return [];
    const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
    return [...code.matchAll(importPattern)].flatMap(([, type, path, dynamicPath]): Import[] => {
      const specifier = path ?? dynamicPath!;
      if (!specifier.startsWith('.')) return [];
      const to = posix.join(posix.dirname(from), specifier);
      return [{ from, to, isType: type !== undefined, isDynamic: dynamicPath !== undefined }];
    });
  });
}

/** The first part of a path below `src/`: a folder, or a file by its name. */
const folderOf = (path: string): string => path.split('/')[1]!.replace(/\.(?:ts|json)$/, '');
/** The folder in a folder; undefined for a file directly in it. */
const subfolderOf = (path: string): string | undefined => (path.split('/').length > 3 ? path.split('/')[2] : undefined);

function isAllowed(fence: string, to: string, isType: boolean): boolean {
  const words = fence.split(' ');
  if (words.includes(`!${to}`)) return false;
  return words.some((word) => word === '*' || word === to || (isType && word === `${to}:types`));
}

const isAdapter = (path: string): boolean => {
  const [, folder, , part, ...rest] = path.split('/');
  return folder === 'platform' && rest.length > 0 && part !== 'ports';
};

/** Lists the violations, in sentences that say what to do. */
export function findViolations(sources: Sources, rules: Rules): string[] {
  const imports = listImports(sources);
  return [
    ...findUnknownFolders(sources, rules),
    ...imports.flatMap((each) =>
      sources.has(each.to) ? [] : [`${each.from} imports ${each.to}, which does not exist.`],
    ),
    ...imports.flatMap((each) => explain(each, rules) ?? []),
  ];
}

function findUnknownFolders(sources: Sources, { folders, within }: Rules): string[] {
  const unknown = new Set<string>();
  for (const [path, text] of sources) {
    if (isTest(path, text)) continue;
    const folder = folderOf(path);
    const subfolder = subfolderOf(path);
    if (folders[folder] === undefined) unknown.add(`src/${folder}`);
    if (subfolder !== undefined && within[folder] && within[folder][subfolder] === undefined) {
      unknown.add(`src/${folder}/${subfolder}`);
    }
  }
  return [...unknown].map(
    (name) => `${name} is not in the table of ${place}. Add a row that says what it may import, as little as possible.`,
  );
}

const place = 'tests/architecture/import-fence.test.ts';

function explain({ from, to, isType }: Import, rules: Rules): string | undefined {
  const [source, target] = [folderOf(from), folderOf(to)];
  const kind = isType ? 'imports types of' : 'imports';
  if (source !== target) {
    const fence = rules.folders[source];
    if (fence === undefined || rules.folders[target] === undefined) return undefined; // reported as unknown
    if (!rules.everywhere.includes(target) && !isAllowed(fence, target, isType)) {
      const allowed = [...rules.everywhere, ...fence.split(' ')].filter((word) => word !== '').join(', ');
      return `${from} ${kind} ${to}, but ${source}/ may import only ${allowed}. Move the code to a folder that may, pass the value in from compose/, or change the table in ${place} and say why.`;
    }
    if (isAdapter(to) && !rules.adapterUsers.includes(source)) {
      return `${from} ${kind} ${to}, which is an adapter. Import its port in platform/, and let compose/ pass the adapter in.`;
    }
    return undefined;
  }
  const [part, other] = [subfolderOf(from), subfolderOf(to)];
  if (part === undefined || other === undefined || part === other) return undefined;
  const fence = rules.within[source]?.[part];
  if (fence !== undefined && rules.within[source]?.[other] !== undefined && !isAllowed(fence, other, isType)) {
    return `${from} ${kind} ${to}, but ${source}/${part}/ may import only ${fence || 'its own files'} of ${source}/. Move the code, or change the table in ${place} and say why.`;
  }
  if (rules.strangers[source] && !rules.strangers[source].includes(other)) {
    return `${from} ${kind} ${to}: folders of ${source}/ do not import one another. Move what both need up into ${source}/.`;
  }
  return undefined;
}

/** Lists the cycles of imports that load modules, each as a path that ends where it begins. */
export function findCycles(sources: Sources): string[] {
  const next = Map.groupBy(
    listImports(sources).filter(({ isType, isDynamic }) => !isType && !isDynamic),
    ({ from }) => from,
  );
  const done = new Set<string>();
  const path: string[] = [];
  const cycles: string[] = [];
  const visit = (module: string): void => {
    const at = path.indexOf(module);
    if (at !== -1) cycles.push([...path.slice(at), module].join(' -> '));
    if (at !== -1 || done.has(module)) return;
    path.push(module);
    for (const { to } of next.get(module) ?? []) visit(to);
    path.pop();
    done.add(module);
  };
  for (const module of sources.keys()) visit(module);
  return cycles;
}

/** Lists the groups of modules that all reach one another by imports, types included: each sorted, the largest first. */
export function findKnots(sources: Sources): string[][] {
  const next = Map.groupBy(listImports(sources), ({ from }) => from);
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const knots: string[][] = [];
  // Tarjan's algorithm: a module that reaches none before itself ends a group, which is open from it on.
  const visit = (module: string): void => {
    order.set(module, order.size);
    lowest.set(module, order.get(module)!);
    open.push(module);
    for (const { to } of next.get(module) ?? []) {
      if (!order.has(to)) visit(to);
      if (open.includes(to)) lowest.set(module, Math.min(lowest.get(module)!, lowest.get(to)!));
    }
    if (lowest.get(module) !== order.get(module)) return;
    const group = open.splice(open.indexOf(module));
    if (group.length > 1) knots.push(group.sort());
  };
  for (const module of sources.keys()) if (!order.has(module)) visit(module);
  return knots.sort((a, b) => b.length - a.length);
}
