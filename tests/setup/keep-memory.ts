import { Session } from 'node:inspector/promises';

/*
 * An idle gateway collects all garbage of its process: src/platform/idle-memory.ts. In a process that runs tests, each of
 * its gateways would do so, and each time the engine reads the objects of all test files. That took a fifth of the CPU time
 * of some files. Gateways that tests start as processes still do it.
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
