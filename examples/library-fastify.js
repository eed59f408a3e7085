/*
 * The gateway as a plugin of Fastify, below the path /llm.
 *
 *   npm install headgate fastify
 *   node library-fastify.js
 */
import fastify from 'fastify';
import { createGateway } from 'headgate';

const gateway = await createGateway({ dataDir: process.env.DATA });
if (gateway.firstKeys) console.log(`The key of the first start is ${gateway.firstKeys.inference}`);

const app = fastify();
app.get('/hello', () => 'Hello from the shop.\n');
app.register(gateway.fastify, { prefix: '/llm' });
app.addHook('onClose', () => gateway.close());

console.log(await app.listen({ port: Number(process.env.PORT ?? 3000) }));
process.once('SIGTERM', () => app.close());
