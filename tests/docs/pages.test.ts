import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, describe, expect, it } from 'vitest';
import { createProgram, runCli } from '../../src/cli/program.ts';
import { resourceCommands } from '../../src/cli/resources/find-command.ts';
import { loadConfig } from '../../src/config/load.ts';
import { rootNode } from '../../src/config/schema-node.ts';
import { definedRoutes } from '../../src/api/routes.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const pages = ['README.md', 'CONTRIBUTING.md', 'ARCHITECTURE.md', 'CHANGELOG.md'].concat(
  globSync(['docs/**/*.md', 'bench/*.md'], { cwd: root }),
);
/** Pages that describe the current state. */
const current = pages.filter((path) => path !== 'CHANGELOG.md' && !path.startsWith('docs/decisions/'));
const settings = Object.keys(rootNode.properties ?? {});

interface Block {
  page: string;
  /** The number of its first line. */
  line: number;
  language: string;
  text: string;
}

const blocks: Block[] = pages.flatMap((page) =>
  [...read(page).matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map((found) => ({
    page,
    line: found.input.slice(0, found.index).split('\n').length + 1,
    language: found[1]!,
    text: found[2]!,
  })),
);
const withoutBlocks = (text: string) => text.replace(/^```[\s\S]*?^```$/gm, '');
/** Finds the text in backticks outside of blocks. */
const codesOf = (page: string) => [...withoutBlocks(read(page)).matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!);

describe('links', () => {
  /** Creates an anchor as repository hosts do: lower case, no punctuation, hyphens for spaces. */
  const anchorsOf = (page: string) =>
    [...withoutBlocks(read(page)).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    );

  it.each(pages)('of %s lead to a file, and to a heading in it', (page) => {
    const links = [...withoutBlocks(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
    const lost = links.filter((link) => {
      if (/^https?:/.test(link)) return false;
      const [file, anchor] = link.split('#');
      const target = file ? join(dirname(page), file) : page;
      return !existsSync(join(root, target)) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
    });
    expect(lost).toEqual([]);
  });
});

describe('configuration in YAML', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-pages-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  /** The lines above blocks that show only the entries of a list. */
  const aboveOf = ({ text }: Block) => {
    if (!/^ +- /.test(text)) return '';
    return /^ +- model:/.test(text) ? 'providers:\n  - id: google\n    models:\n' : 'providers:\n';
  };
  const isOurs = (block: Block) =>
    [...(aboveOf(block) + block.text).matchAll(/^(\w+):/gm)].every(([, key]) => settings.includes(key!));
  const ours = blocks.filter((block) => block.language === 'yaml' && isOurs(block));

  it('exists', () => expect(ours.length).toBeGreaterThan(20));

  it.each(ours)('of $page:$line loads without a warning', (block) => {
    const file = join(folder, 'headgate.yaml');
    writeFileSync(file, aboveOf(block) + block.text);
    const variables = [...block.text.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name!);
    const usual = ['OPENAI', 'GROQ', 'GEMINI', 'OPENROUTER', 'AZURE_OPENAI'].map((name) => `${name}_API_KEY`);
    const env = Object.fromEntries([...variables, ...usual].map((name) => [name, `value-of-${name}`]));

    expect(loadConfig({ file, env, cwd: folder }).warnings).toEqual([]);
  });
});

describe('commands', () => {
  const quiet = { write: () => true };
  const program = createProgram({ stdout: quiet, stderr: quiet, env: {}, cwd: '/' }, resourceCommands, () => {});
  const findChild = (command: Command, name: string | undefined) =>
    command.commands.find((child) => child.name() === name);

  /** The default commands of groups. */
  const alone: Readonly<Record<string, string>> = {
    '': 'start',
    models: 'list',
    requests: 'list',
    'workspaces budgets': 'change',
    'workspaces members': 'change',
    'containers files': 'list',
  };

  /** Finds the words of a command line that the program does not have: commands and options. */
  function findUnknown(words: readonly string[]): string[] {
    let command: Command = program;
    let depth = 0;
    for (let child = findChild(command, words[0]); child; child = findChild(command, words[depth])) {
      command = child;
      depth++;
    }
    command = findChild(command, alone[words.slice(0, depth).join(' ')]) ?? command;
    const [word = '', ...others] = words.slice(depth);
    const known = ['--help', ...[program, command].flatMap(({ options }) => options.map(({ long }) => long))];
    const options = [word, ...others].flatMap((one) => /^--[a-z][a-z-]*/.exec(one)?.[0] ?? []);
    const isLost = command.registeredArguments.length === 0 && /^[a-z]/.test(word) && word !== 'help';
    return [...(isLost ? [word] : []), ...options.filter((option) => !known.includes(option))];
  }

  const call =
    /^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:(?:npx )?headgate|npm run (?:-s )?headgate --|npm start --) ([a-z-][^#|:;)]*)/;
  const commandsOf = (page: string): string[] => {
    const lines = blocks
      .filter((block) => block.page === page && /^(sh|console|)$/.test(block.language))
      .flatMap(({ text }) => text.split('\n'));
    return [...lines, ...codesOf(page)].flatMap((line) => call.exec(line)?.[1]?.split(/ {2}/)[0]?.trim() ?? []);
  };

  it('are found', () => expect(current.flatMap(commandsOf).length).toBeGreaterThan(60));

  function* listPaths(command: Command, path: readonly string[] = []): Generator<{ path: string }> {
    yield { path: ['headgate', ...path].join(' ') };
    for (const child of command.commands) yield* listPaths(child, [...path, child.name()]);
  }

  it.each([...listPaths(program)])('in the help of $path are those of the program', async ({ path }) => {
    let told = '';
    const stdout = { write: (text: string) => (told += text) };
    await runCli([...path.split(' ').slice(1), '--help'], { stdout, stderr: stdout, env: {}, cwd: '/' });

    const examples = told.split('\n').flatMap((line) => /\$ .*?\bheadgate (.*)$/.exec(line)?.[1] ?? []);
    const unknown = examples
      .flatMap((line) => line.split(/ {2,}|[|)]/)[0]!.split('&& headgate '))
      .flatMap((line) => findUnknown(line.trim().split(/\s+/)));
    expect(examples).not.toEqual([]);
    expect(unknown).toEqual([]);
  });

  it.each(current)('of %s are those of the program', (page) => {
    const lost = commandsOf(page).map((line) => ({ line, unknown: findUnknown(line.split(/\s+/)) }));
    expect(lost.filter(({ unknown }) => unknown.length > 0)).toEqual([]);
  });
});

describe('routes', () => {
  const paths = definedRoutes.map(({ path }) => path);
  const table = definedRoutes.map(({ method, path }) => ({
    method,
    pattern: new RegExp(`^${path.replace('/api/v1', '(/api/v1)?').replace(/:\w+/g, '[^/]+').replace('*', '.+')}$`),
  }));

  /** `GET /keys`, `GET, POST /api/v1/keys`, `POST /keys/{hash}/rotate`; `curl -X POST http://127.0.0.1:8787/api/v1/keys`. */
  const routesOf = (page: string) => {
    const codes = codesOf(page).flatMap((code) => {
      const found = /^((?:(?:GET|POST|PUT|PATCH|DELETE)(?:, )?)+) (\/[\w/{}.$-]+)/.exec(code.split('…')[0]!);
      return found === null ? [] : found[1]!.split(', ').map((method) => ({ method, path: found[2]! }));
    });
    const calls = blocks
      .filter((block) => block.page === page && /^(sh|)$/.test(block.language))
      .flatMap(({ text }) => text.replace(/\\\n/g, '').split('\n'))
      .flatMap((line) => {
        const path = /(?:127\.0\.0\.1|localhost):8787(\/[\w/$.-]+)/.exec(line)?.[1];
        if (!line.includes('curl ') || path === undefined) return [];
        return [{ method: /-X (\w+)/.exec(line)?.[1] ?? (line.includes(" -d '") ? 'POST' : 'GET'), path }];
      });
    return [...codes, ...calls].filter(({ path }) => !path.endsWith('/')); // as of `GET /model/…`
  };

  it('are found', () => expect(current.flatMap(routesOf).length).toBeGreaterThan(60));

  it('of docs/reference/not-offered.md are in no table of routes', () => {
    const rows = [...read('docs/reference/not-offered.md').matchAll(/^\| (\/.*?) \|/gm)];
    const named = rows.flatMap(([, cell]) => cell!.split(', ')).map((path) => `/api/v1${path}`);
    expect(named.length).toBeGreaterThan(3);
    expect(paths.filter((path) => named.some((start) => path.startsWith(start)))).toEqual([]);
  });

  it.each(current)('of %s are in the table of routes', (page) => {
    const isThere = ({ method, path }: { method: string; path: string }) =>
      table.some((row) => row.method === method && row.pattern.test(path));
    expect(routesOf(page).filter((route) => !isThere(route))).toEqual([]);
  });
});

describe('names', () => {
  const sources = globSync('src/**/*.{ts,json}', { cwd: root }).filter((path) => !path.includes('.test.'));
  const words = new Set(sources.flatMap((path) => read(path).match(/\w+/g) ?? []));

  it.each(current)('of settings in %s exist', (page) => {
    const named = codesOf(page).flatMap(
      (code) => /^([a-z]\w*(?:(?:\[\])?\.[a-z]\w*)+)(?:: .*)?$/.exec(code)?.[1] ?? [],
    );
    const lost = named.filter((name) => {
      const [first, ...path] = name.replaceAll('[]', '').split('.');
      if (!settings.includes(first!) || /\.(ts|jsonl?|md|yaml)$/.test(name)) return false;
      let node = rootNode.properties?.[first!];
      const isOfRequests = (name.startsWith(`${first}[]`) && !node?.items) || name.startsWith('tools.f.');
      if (isOfRequests) return false;
      for (const key of path) node = (node?.items ?? node)?.properties?.[key];
      return node === undefined;
    });
    expect(lost).toEqual([]);
  });

  it('of the provider that docs/guides/adding-a-provider.md shows are its row', () => {
    const diff = blocks.find(({ language }) => language === 'diff')!.text;
    expect(read('src/config/known-providers.json')).toContain(diff.replace(/^\+/gm, '').trimEnd());
  });

  const catalog = globSync('src/catalog/builtin/*.json', { cwd: root }).map(read).join();

  it('of models in examples are in the catalog', () => {
    const slugs = blocks
      .filter(({ page, language }) => current.includes(page) && /^(sh|json|ts|toml|yaml)$/.test(language))
      .flatMap(({ text }) => [...text.matchAll(/["' ]((?:openai|anthropic|google)\/[a-z0-9.-]+)["' ,\n\]]/g)])
      .map(([, slug]) => slug!);
    expect(slugs.length).toBeGreaterThan(20);
    expect(slugs.filter((slug) => !catalog.includes(`"${slug}"`))).toEqual([]);
  });

  it.each(current)('of errors, metadata and metrics in %s are in the source', (page) => {
    const text = withoutBlocks(read(page));
    const named = [
      ...text.matchAll(/\b[45]\d\d `([a-z]+_[a-z_]+)`/g),
      ...text.matchAll(/`(?:router_metadata\.)?(?:params|error\.metadata|error\.availability)\.(\w+)`/g),
      ...read(page).matchAll(/\b(headgate_[a-z_]+[a-z])\b/g),
    ].map(([, name]) => name!.replace(/_bucket$/, ''));
    expect(named.filter((name) => !words.has(name))).toEqual([]);
  });
});
