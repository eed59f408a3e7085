/*
 * The gateway without a server: a client of OpenAI calls it in the same process.
 *
 *   npm install headgate openai
 *   node library-fetch.js
 */
import { createGateway } from 'headgate';
import OpenAI from 'openai';

const gateway = await createGateway();

const client = new OpenAI({
  baseURL: 'http://gateway/api/v1', // the name means nothing
  apiKey: gateway.firstKeys.inference,
  fetch: (url, init) => gateway.fetch(new Request(url, init)),
});
const stream = await client.chat.completions.create({
  model: 'simulator/echo',
  messages: [{ role: 'user', content: 'Hello' }],
  stream: true,
});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '');
process.stdout.write('\n');

await gateway.close();
