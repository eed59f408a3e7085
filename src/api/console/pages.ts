import { readFile, readdir, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DefinedRoute } from '../../http/define-route.ts';

export interface ConsolePageParts {
  /** Whether the operator offers the console. */
  isOffered: () => boolean;
  /** `server.public_url`. Its path is the prefix below which a proxy serves the gateway. */
  publicUrl: () => string | undefined;
  /** The build of `console/`. Absent: that of this gateway. */
  folder?: string | undefined;
}

/** The build of the gateway and a clone have it at the same place. */
const ownFolder = fileURLToPath(new URL('../../../dist/console', import.meta.url));
const INDEX = 'index.html';

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
};

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');
const headers = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** The compressed forms of a file, the smallest first. */
const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

const listed = new Map<string, { builtAtMs: number; files: Promise<ReadonlySet<string>> }>();

/** Lists the files once for each build. Only their paths are served, so a request cannot name any other. */
async function listFiles(folder: string): Promise<ReadonlySet<string>> {
  const page = await stat(join(folder, INDEX)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  if (page === undefined) return new Set();
  const known = listed.get(folder);
  if (known?.builtAtMs === page.mtimeMs) return known.files;
  const files = readFiles(folder);
  listed.set(folder, { builtAtMs: page.mtimeMs, files });
  files.catch(() => listed.delete(folder)); // the next request tries again
  return files;
}

async function readFiles(folder: string): Promise<ReadonlySet<string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return new Set(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) =>
        join(entry.parentPath, entry.name)
          .slice(folder.length + 1)
          .replaceAll('\\', '/'),
      ),
  );
}

async function servePage(
  { publicUrl, folder = ownFolder }: ConsolePageParts,
  path: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const files = await listFiles(folder);
  reply.headers(headers);
  if (!files.has(INDEX)) {
    reply.code(503).headers({ 'content-type': types['.txt']!, 'cache-control': 'no-store' });
    return 'The console is not built. Run "npm run build" in the folder of the gateway, and load this page again.\n';
  }
  const isAsset = path !== INDEX && files.has(path) && !/\.(?:br|gz)$/.test(path);
  // A missing file must not be answered with a page, which browsers would keep as the file.
  if (!isAsset && path.startsWith('assets/')) {
    reply.code(404).headers({ 'content-type': types['.txt']!, 'cache-control': 'no-store' });
    return 'There is no such file. Load the page again: the gateway may have been upgraded.\n';
  }
  if (!isAsset) {
    const page = await readFile(join(folder, INDEX), 'utf8');
    const prefix = publicUrl() === undefined ? '' : new URL(publicUrl()!).pathname.replace(/\/$/, '');
    reply.headers({ 'content-type': types['.html']!, 'cache-control': 'no-cache' });
    return page.replace('<base href="/console/"', () => `<base href="${escapeAttribute(prefix)}/console/"`);
  }
  const accepted = request.headers['accept-encoding'] ?? '';
  const sent = String(accepted)
    .split(',')
    .map((part) => part.split(';', 1)[0]!.trim().toLowerCase());
  const [encoding, ending] = encodings.find(([name, end]) => sent.includes(name) && files.has(path + end)) ?? [];
  reply.headers({
    'content-type': types[extname(path)] ?? 'application/octet-stream',
    'cache-control': path.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
    vary: 'accept-encoding',
    ...(encoding && { 'content-encoding': encoding }),
  });
  return readFile(join(folder, path + (ending ?? '')));
}

const escapeAttribute = (value: string): string =>
  value.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

const definePage = (path: string): DefinedRoute<ConsolePageParts> => {
  const row = { method: 'GET', path, permission: 'none' } as const;
  return {
    ...row,
    operation: undefined,
    bind: (parts) => ({
      ...row,
      isOffered: parts.isOffered,
      handler: (request, reply) => {
        const { '*': rest = '' } = request.params as { '*'?: string };
        return servePage(parts, rest === '' ? INDEX : rest, request, reply);
      },
    }),
  };
};

/** The pages of the console, below `/console`. The pages themselves have no data, so they need no key. */
export const consolePages = [definePage('/console'), definePage('/console/*')];
