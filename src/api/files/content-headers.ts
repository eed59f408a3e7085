import type { FastifyReply } from 'fastify';

/** Writes the headers of the content of a file. A browser saves it and never runs it. */
export function writeContentHeaders(reply: FastifyReply, mimeType: string, filename: string, bytes: number): void {
  const name = encodeURIComponent(filename.slice(filename.lastIndexOf('/') + 1)).replaceAll("'", '%27');
  reply.headers({
    'content-type': mimeType.startsWith('text/') ? `${mimeType}; charset=utf-8` : mimeType,
    'content-length': bytes,
    'content-disposition': `attachment; filename*=UTF-8''${name}`,
    'x-content-type-options': 'nosniff',
  });
}
