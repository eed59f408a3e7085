import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AgentEvent, InteractionReply, RunRequest } from './events.ts';
import { SessionStore } from './sessions.ts';
import type { AgentSettings } from './settings.ts';
import { createReplySigner } from './sign-reply.ts';
import { AgentTurn } from './turn.ts';
import { createRequestCheck } from './verify-request.ts';

const MAX_BODY = 1024 * 1024;

/** Serves the control endpoints. @see docs/reference/intern-runtimes.md#endpoints */
export function createAgentServer(settings: AgentSettings): Server {
  const sessions = new SessionStore(settings.home);
  const consents = new Map<string, 'allow' | 'reject'>();
  const isFromGateway = createRequestCheck(settings.controlKey);
  const replies = createReplySigner(settings.replyKey);
  let turn: AgentTurn | undefined;

  async function run(request: RunRequest, number: string, response: ServerResponse): Promise<void> {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    const sign = replies.open(number, 200);
    const emit = (event: AgentEvent): void => void response.write(`${sign(JSON.stringify(event))}\n`);
    const current = new AgentTurn(request, { settings, sessions, consents, emit });
    turn = current;
    response.on('close', () => current.cancel());
    try {
      emit(await current.run());
    } finally {
      turn = undefined;
      response.end();
    }
  }

  async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = request;
    const [, , name, id, action, question] = path.split('/');
    const [number = ''] = String(headers['headgate-signature']).split('.');
    if (!path.startsWith('/.headgate/')) {
      return refuse(response, 404, 'This agent has no pages. Talk to it at /chat/completions.');
    }
    const bytes = await readBody(request);
    if (!isFromGateway({ method, path, body: bytes, signature: headers['headgate-signature'] }))
      return refuse(response, 401, 'The signature is wrong.');
    // Only the gateway gets an authenticated reply: others could pass it on in place of another one.
    const reply = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'text/plain', 'headgate-reply-key': replies.publicKey });
      response.end(replies.open(number, status)(JSON.stringify(body)));
    };
    if (method === 'GET' && name === 'health') return reply(200, { status: 'ok' });
    if (method !== 'POST' || name !== 'runs') return reply(404, { message: 'There is no such endpoint.' });
    const body = JSON.parse(bytes.toString() || '{}');
    if (id === undefined) {
      if (turn) return reply(409, { message: 'A run is in progress.' });
      return run(body as RunRequest, number, response); // from the gateway
    }
    if (turn?.request.run_id !== id) return reply(404, { message: 'There is no such run.' });
    if (action === 'cancel') {
      turn.cancel();
      return reply(202, {});
    }
    if (action === 'input')
      return turn.steer(String(body.text)) ? reply(202, {}) : reply(409, { message: 'The run ends.' });
    if (action === 'interactions') {
      const isPending = turn.interactions.settle(String(question), body.answer as InteractionReply);
      return isPending ? reply(200, {}) : reply(409, { message: 'The question is not pending.' });
    }
    return reply(404, { message: 'There is no such endpoint.' });
  }

  return createServer((request, response) => {
    route(request, response).catch((error: Error) => {
      process.stdout.write(`request failed: ${error.message}\n`);
      if (response.headersSent) response.end();
      else refuse(response, 400, error.message);
    });
  });
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ message }));
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MAX_BODY) throw new Error('The body is too large.');
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
