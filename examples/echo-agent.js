/*
 * An agent for interns that repeats what it is told. It shows the contract of docs/reference/intern-runtimes.md:
 *
 *   interns:
 *     runtime: echo
 *     runtimes: { echo: { command: [node, /tmp/headgate/files/echo-agent.js], files: [examples/echo-agent.js] } }
 *
 * It counts the messages of each session in its home folder. The message "ask" asks a question, and "model TEXT" calls the
 * model of the intern.
 */
const { createServer, request } = require('node:http');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { createHash, createPublicKey, verify } = require('node:crypto');

const { PORT, HOME, HEADGATE_CONTROL_KEY, HEADGATE_BASE_URL, HEADGATE_API_KEY, HEADGATE_MODEL, HTTP_PROXY } =
  process.env;

/** The key of the gateway, which signs its requests. */
const key = createPublicKey({ key: Buffer.from(HEADGATE_CONTROL_KEY, 'base64'), format: 'der', type: 'spki' });
/** The numbers of the latest requests. Each is valid once. */
const used = new Set();
/** The number of a request says when it was sent. The fastest one so far says how late another one is. */
let fastest = Infinity;
const MAX_DELAY_MS = 10_000;

/** Longest body. */
const MAX_TEXT = 16 * 1024 * 1024;

/** The run in progress. */
let run;

/** Whether the gateway sent a request. Other processes of the sandbox can connect, too. */
function isFromGateway({ method, url, headers }, body) {
  const [digits, signature = ''] = (headers['headgate-signature'] ?? '').split('.');
  const number = Number(digits);
  const delay = performance.now() - number;
  if (!(delay - Math.min(fastest, delay) <= MAX_DELAY_MS) || used.has(number)) return false;
  const digest = createHash('sha256').update(body).digest('hex');
  const signed = Buffer.from(`${digits}\n${method}\n${url}\n${digest}`);
  if (!verify(null, signed, key, Buffer.from(signature, 'base64url'))) return false;
  used.add(number);
  fastest = Math.min(fastest, delay);
  for (const each of used) if (each < number - MAX_DELAY_MS) used.delete(each);
  return true;
}

/** Adds one to the count of a session. The file is replaced at once, because the agent can be killed at any time. */
function count(sessionId) {
  const path = `${HOME}/sessions/${createHash('sha256').update(sessionId).digest('hex')}`;
  mkdirSync(`${HOME}/sessions`, { recursive: true });
  let counted = 0;
  try {
    counted = Number(readFileSync(path, 'utf8'));
  } catch {
    // a new session
  }
  writeFileSync(`${path}.new`, String(counted + 1));
  renameSync(`${path}.new`, path);
  return counted + 1;
}

/** Calls `POST /responses` through the proxy. */
function callModel(input) {
  const url = new URL(`${HEADGATE_BASE_URL}/responses`);
  const proxy = new URL(HTTP_PROXY);
  const body = JSON.stringify({ input, ...(HEADGATE_MODEL && { model: HEADGATE_MODEL }) });
  const headers = {
    host: url.host,
    authorization: `Bearer ${HEADGATE_API_KEY}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  return new Promise((resolve, reject) => {
    const to = { host: proxy.hostname, port: proxy.port, path: url.href, method: 'POST', headers };
    const outgoing = request(to, async (response) => {
      const { model, output, error, usage } = JSON.parse(await readText(response));
      if (error) return reject(new Error(error.message));
      const text = output.flatMap(({ content = [] }) => content.map((part) => part.text)).join('');
      return resolve({ model, text, usage });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

async function perform({ session_id, input }, emit) {
  const number = count(session_id);
  if (input.startsWith('model ')) {
    const { model, text, usage } = await callModel(input.slice(6));
    emit({ type: 'model', model });
    emit({ type: 'text', text });
    return { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens, cached_tokens: 0, cost: usage.cost };
  }
  if (input === 'ask') {
    const interaction = { id: `question-${number}`, kind: 'elicitation', message: 'Which color?' };
    emit({
      type: 'interaction',
      interaction: { ...interaction, fields: [{ name: 'color', type: 'string', required: true }] },
    });
    const answer = await new Promise((resolve) => {
      run.question = { id: interaction.id, resolve };
    });
    emit({ type: 'text', text: answer.action === 'accept' ? `You like ${answer.content.color}.` : 'Never mind.' });
    return undefined;
  }
  emit({ type: 'text', text: `${number}: ${input}` });
  return undefined;
}

async function startRun(body, response) {
  const emit = (event) => response.write(`${JSON.stringify(event)}\n`);
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  run = { id: body.run_id };
  try {
    emit({ type: 'end', status: 'completed', usage: await perform(body, emit) });
  } catch (error) {
    emit({ type: 'end', status: 'failed', error: { message: error.message } });
  } finally {
    run = undefined;
    response.end();
  }
}

async function route(incoming, response) {
  const reply = (status, body = {}) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  if (!incoming.url.startsWith('/.headgate/')) return reply(200, { path: incoming.url });
  const text = await readText(incoming);
  if (!isFromGateway(incoming, text)) return reply(401);
  const [, , name, id, action, question] = incoming.url.split('/');
  if (name === 'health') return reply(200);
  const body = JSON.parse(text || '{}');
  if (id === undefined) return run ? reply(409) : startRun(body, response);
  if (run?.id !== id) return reply(404);
  if (action === 'interactions' && run.question?.id === question) {
    run.question.resolve(body.answer);
    return reply(200);
  }
  // It takes no further messages, and its runs are short.
  return reply(action === 'cancel' ? 202 : 409);
}

async function readText(stream) {
  let text = '';
  for await (const piece of stream) {
    text += piece;
    if (text.length > MAX_TEXT) throw new Error('The body is too large.');
  }
  return text;
}

const server = createServer((incoming, response) => {
  route(incoming, response).catch((error) => {
    process.stdout.write(`${error.message}\n`);
    response.destroy();
  });
});
// Every WebSocket is refused politely: an agent that has one handles the event `upgrade`.
server.listen(Number(PORT), '127.0.0.1', () => process.stdout.write('ready\n'));
