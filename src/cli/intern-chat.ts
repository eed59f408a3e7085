import { randomUUID } from 'node:crypto';
import { answerInteraction, type Interaction } from './answer-interaction.ts';
import { type InternApi, RejectedError } from './intern-api.ts';
import { LineReader } from './line-reader.ts';
import { CommandError, type Terminal, type TerminalOutput } from './terminal.ts';

export interface InternChatOptions {
  /** Sent, and nothing else. Absent: messages are lines of the standard input. */
  message?: string;
  /** Absent: a new one. */
  session?: string;
  /** Whether the intern asks before it uses its tools. */
  manual?: boolean;
}

type Message = { role: 'user'; content: string } | { role: 'tool'; tool_call_id: string; content: string };

interface Chunk {
  choices: { delta: { content?: string; tool_calls?: { id: string; function: { arguments: string } }[] } }[];
  error?: { message: string };
}

/** A question that the run waits for. */
interface Question {
  id: string;
  interaction: Interaction;
}

/**
 * Talks with an intern: sends each line, prints the reply as it arrives, and lets the person answer its questions.
 *
 * @throws {CommandError} if a message fails, unless a person types the next one
 */
export async function chatWithIntern(terminal: Terminal, api: InternApi, options: InternChatOptions): Promise<void> {
  const { stderr } = terminal;
  const input = terminal.openInput?.();
  const lines = input && new LineReader(input);
  const isTyped = input?.isTTY === true;
  const session = options.session ?? randomUUID();
  const send = async (message: Message): Promise<Question | undefined> => {
    const body = { stream: true, session_id: session, messages: [message] };
    const mode = options.manual ? { approval_mode: 'manual' } : {};
    const response = await api.call('/chat/completions', { ...body, ...mode });
    if (response.status !== 202) return printReply(response, terminal.stdout);
    stderr.write('The message joined the run in progress.\n');
    return undefined;
  };
  const talk = async (content: string): Promise<void> => {
    let question = await send({ role: 'user', content });
    while (question) {
      const { id, interaction } = question;
      const answer = await answerInteraction(interaction, lines, stderr);
      try {
        question = await send({ role: 'tool', tool_call_id: id, content: answer });
      } catch (error) {
        if (!isTyped || !(error instanceof RejectedError) || error.status !== 400) throw error;
        stderr.write(`${error.message}\n`); // the question is still open
      }
    }
  };
  try {
    if (options.message !== undefined) return await talk(options.message);
    if (isTyped) stderr.write(`Session ${session} with ${api.name}. Ctrl-D ends it.\n`);
    for (;;) {
      if (isTyped) stderr.write('> ');
      const line = await lines?.read();
      if (line === undefined) return;
      if (line.trim() === '') continue;
      try {
        await talk(line);
      } catch (error) {
        if (!isTyped || !(error instanceof CommandError)) throw error;
        stderr.write(`${error.message}\n`);
      }
    }
  } finally {
    await lines?.close();
  }
}

/** Prints a reply as it arrives. @throws {CommandError} if it fails */
async function printReply(response: Response, stdout: TerminalOutput): Promise<Question | undefined> {
  let question: Question | undefined;
  let failure: string | undefined;
  let [hasText, isDone] = [false, false];
  for await (const data of readEvents(response)) {
    if (data === '[DONE]') {
      isDone = true;
      continue;
    }
    const { choices, error } = JSON.parse(data) as Chunk;
    if (error) failure = error.message;
    for (const { delta } of choices) {
      if (delta.content) {
        stdout.write(delta.content);
        hasText = true;
      }
      for (const { id, function: call } of delta.tool_calls ?? []) {
        question = { id, interaction: JSON.parse(call.arguments) as Interaction };
      }
    }
  }
  if (hasText) stdout.write('\n');
  if (failure !== undefined) throw new CommandError(failure);
  if (!isDone) throw new CommandError('The connection ended before the reply was complete.');
  return question;
}

/** Returns the `data` of each server-sent event. */
async function* readEvents({ body }: Response): AsyncGenerator<string> {
  let rest = '';
  for await (const text of body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) if (line.startsWith('data: ')) yield line.slice(6);
  }
}
