import { randomUUID } from 'node:crypto';
import { callModel, type Item, type ModelResponse } from './call-model.ts';
import { describeItems, splitConversation, SUMMARY_PROMPT, writeSummary } from './compact.ts';
import type { AgentEnd, AgentEvent, AgentInteraction, AgentUsage, InteractionReply, RunRequest } from './events.ts';
import { CancelledError, Interactions, permissionOptions } from './interactions.ts';
import { completeCalls, type AgentSession, type SessionStore } from './sessions.ts';
import type { AgentSettings } from './settings.ts';
import { approvalTools, runTool, toolDefinitions } from './tools.ts';

/** Model calls of a run. */
const MAX_STEPS = 100;
/** Messages that wait for the next model call. */
const MAX_STEERED = 50;

export interface TurnParts {
  settings: AgentSettings;
  sessions: SessionStore;
  /** Consents that count until the agent ends, for each session. */
  consents: Map<string, 'allow' | 'reject'>;
  emit(event: AgentEvent): void;
}

/** A run: the prompt of a person, and everything that the model does about it. */
export class AgentTurn {
  readonly request: RunRequest;
  readonly interactions = new Interactions();
  private readonly parts: TurnParts;
  private readonly cancellation = new AbortController();
  private readonly steered: string[] = [];
  private readonly usage: AgentUsage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost: 0 };
  private isEnding = false;

  constructor(request: RunRequest, parts: TurnParts) {
    this.request = request;
    this.parts = parts;
  }

  cancel(): void {
    this.cancellation.abort(new CancelledError());
  }

  /** Adds a message before the next model call. @returns whether there is one */
  steer(text: string): boolean {
    if (this.isEnding || this.steered.length >= MAX_STEERED) return false;
    this.steered.push(text);
    return true;
  }

  /** Runs until the model makes no more calls. */
  async run(): Promise<AgentEnd> {
    const { sessions } = this.parts;
    let session: AgentSession | undefined;
    try {
      session = await sessions.open(this.request.session_id);
      await session.add([message(this.request.input)]);
      for (let step = 1; step <= MAX_STEPS; step++) {
        const calls = await this.callModel(session);
        for (const call of calls) await session.add([await this.answer(call)]);
        const texts = this.steered.splice(0);
        if (texts.length > 0) await session.add(texts.map(message));
        else if (calls.length === 0) {
          this.isEnding = true;
          return { type: 'end', status: 'completed', usage: this.usage };
        }
      }
      const failure = `The run made ${MAX_STEPS} model calls, which is the limit. Send another message to go on.`;
      return { type: 'end', status: 'failed', error: { message: failure }, usage: this.usage };
    } catch (error) {
      return this.describeEnd(error);
    } finally {
      this.isEnding = true;
      await session?.replace(completeCalls(session.items)).catch(() => {}); // the next start completes it
    }
  }

  private describeEnd(error: unknown): AgentEnd {
    const { usage } = this;
    if (this.cancellation.signal.aborted || error instanceof CancelledError) {
      return { type: 'end', status: 'cancelled', usage };
    }
    const { message: text, retryable = false } = error as Error & { retryable?: boolean };
    return { type: 'end', status: 'failed', error: { message: text, retryable }, usage };
  }

  /** @returns the calls of tools */
  private async callModel(session: AgentSession): Promise<Item[]> {
    await this.compact(session);
    const { settings, emit } = this.parts;
    const response = await callModel(settings, {
      input: session.items,
      tools: toolDefinitions,
      instructions: this.writeInstructions(),
      sessionId: this.request.session_id,
      tags: this.request.tags,
      signal: this.cancellation.signal,
      onText: (text) => emit({ type: 'text', text }),
      onReasoning: (text) => emit({ type: 'reasoning', text }),
    });
    emit({ type: 'model', model: response.model });
    this.count(response);
    await session.add(response.output);
    return response.output.filter(({ type }) => type === 'function_call');
  }

  private writeInstructions(): string {
    const { instructions, home } = this.parts.settings;
    const own = `You are an assistant that lives in the folder ${home}, where your files are kept. Work there with your tools.`;
    return instructions === '' ? own : `${instructions}\n\n${own}`;
  }

  /** Replaces the earlier part of a long conversation by a summary. Without one, only the latest part stays. */
  private async compact(session: AgentSession): Promise<void> {
    const split = splitConversation(session.items);
    if (!split) return;
    let summary = '';
    try {
      const response = await callModel(this.parts.settings, {
        input: [message(describeItems(split.earlier)), message(SUMMARY_PROMPT)],
        instructions: '',
        tools: [],
        sessionId: this.request.session_id,
        tags: this.request.tags,
        signal: this.cancellation.signal,
        onText: (text) => {
          summary += text;
        },
        onReasoning: () => {},
      });
      this.count(response);
    } catch {
      this.cancellation.signal.throwIfAborted();
    }
    await session.replace([...(summary === '' ? [] : [writeSummary(summary)]), ...split.latest]);
  }

  private count({ usage }: ModelResponse): void {
    const details = usage?.input_tokens_details as { cached_tokens?: number } | undefined; // of the gateway
    const add = (field: keyof AgentUsage, value: unknown): void => {
      if (typeof value === 'number') this.usage[field] += value;
    };
    add('input_tokens', usage?.input_tokens);
    add('output_tokens', usage?.output_tokens);
    add('cached_tokens', details?.cached_tokens);
    add('cost', usage?.cost);
  }

  /** Performs a call, and returns its result as an item. */
  private async answer({ call_id, name, arguments: sent }: Item): Promise<Item> {
    return { type: 'function_call_output', call_id, output: await this.perform(String(name), sent) };
  }

  private async perform(name: string, sent: unknown): Promise<string> {
    const { settings } = this.parts;
    let given: Record<string, unknown>;
    try {
      given = JSON.parse(String(sent) || '{}');
    } catch {
      return 'Error: The arguments are not valid JSON.';
    }
    if (typeof given !== 'object' || given === null) return 'Error: The arguments must be an object.';
    if (name === 'ask') return this.ask(given);
    if (!(await this.isAllowed(name, given))) return 'The person has rejected this call.';
    return runTool({ name, arguments: given, home: settings.home, signal: this.cancellation.signal });
  }

  /** @throws {CancelledError} if the person cancels the run */
  private async isAllowed(name: string, given: Record<string, unknown>): Promise<boolean> {
    if (this.request.approval_mode !== 'manual' || !approvalTools.has(name)) return true;
    const { consents } = this.parts;
    const key = `${this.request.session_id}\n${name}`;
    const consent = consents.get(key);
    if (consent) return consent === 'allow';
    const operation = `${name}: ${String(given.command ?? given.path ?? '')}`.slice(0, 4000);
    const options = [...permissionOptions];
    const answer = await this.question({ id: createCallId(), kind: 'permission', operation, options });
    if (answer === 'cancel' || typeof answer !== 'string') throw new CancelledError();
    if (answer === 'allow_always') consents.set(key, 'allow');
    if (answer === 'reject_always') consents.set(key, 'reject');
    return answer.startsWith('allow');
  }

  private question(interaction: AgentInteraction): Promise<InteractionReply> {
    this.parts.emit({ type: 'interaction', interaction });
    return this.interactions.open(interaction, this.cancellation.signal);
  }

  private async ask({ message: question, options }: Record<string, unknown>): Promise<string> {
    const choices = Array.isArray(options) ? options.map(String).slice(0, 20) : [];
    const answer = await this.question({
      id: createCallId(),
      kind: 'elicitation' as const,
      message: String(question ?? '').slice(0, 4000),
      fields: [{ name: 'answer', type: 'string', required: true, ...(choices.length > 0 && { options: choices }) }],
    });
    if (typeof answer === 'string' || answer.action === 'cancel') throw new CancelledError();
    if (answer.action === 'decline') return 'The person does not want to answer.';
    return String(answer.content?.answer ?? '');
  }
}

const createCallId = (): string => `call_${randomUUID().replaceAll('-', '')}`;

const message = (text: string): Item => ({ type: 'message', role: 'user', content: text });
