import { Session } from 'node:inspector/promises';

/*
 * An idle gateway collects the garbage of its process: src/platform/idle-memory.ts. A process that runs tests has many
 * gateways and the objects of all its test files. The collections took a fifth of the CPU time of some files, so they do
 * nothing here. Gateways that tests start as processes still collect their garbage.
 */
const marker = Symbol.for('headgate.keep-memory');
type Post = (method: string, ...parameters: unknown[]) => Promise<unknown>;
const prototype = Session.prototype as unknown as { post: Post; [marker]?: true };
if (!prototype[marker]) {
  prototype[marker] = true; // files of one worker share this prototype
  const { post } = prototype;
  prototype.post = function (this: unknown, method, ...parameters) {
    return method === 'HeapProfiler.collectGarbage' ? Promise.resolve() : post.call(this, method, ...parameters);
  };
}
