import { setImmediate as nextTurn } from 'node:timers/promises';
import { cutMiddle } from '../../domain/cut-middle.ts';
import type { EndpointFacts } from '../../domain/endpoint.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { InputItem } from '../../domain/items.ts';
import {
  type ModeratedContent,
  ModerationFailure,
  type ModerationVerdict,
  notFlagged,
} from '../../domain/moderation.ts';
import type { PluginPart } from '../../domain/plugin.ts';
import type { Plugin, PluginRun } from '../plugin.ts';
import { collectContent } from './collect-content.ts';

/** What judges inputs. */
export interface ModerationEngine {
  /** `moderations` for a service, `classifier` for a model. */
  readonly name: string;
  /** @throws {ModerationFailure} if it cannot judge */
  judge(content: ModeratedContent, run: ModeratedRun): Promise<ModerationVerdict>;
}

/** The parts of a run that moderation needs. */
export type ModeratedRun = Pick<PluginRun, 'generationId' | 'stages' | 'cancellation'>;

export interface ModerationSettings {
  /** Undefined: none is configured. */
  readonly engine: ModerationEngine | undefined;
  /** Whether an input that cannot be moderated is rejected. */
  readonly isRequired: boolean;
}

export interface ModerationPorts {
  readonly moderation: () => ModerationSettings;
}

/**
 * Checks what users wrote before it is sent. A flagged input of a request that names the plugin is rejected. If only an
 * endpoint demands it, the endpoint is skipped.
 *
 * @see docs/reference/plugins.md#moderation
 */
export const createModeration = ({ moderation }: ModerationPorts): Plugin => ({
  id: 'moderation',
  isEnforced: true,
  prepare(run, setting) {
    if (run.parent) return undefined; // a part of a request that is checked itself
    const { engine, isRequired } = moderation();
    if (!engine) {
      if (setting && isRequired) throw notConfigured();
      return undefined;
    }
    const moderated = new Moderation(run, engine, isRequired);
    const { model, models } = run.request;
    return setting ? moderated.reject(run.input.read(), model ?? models?.[0]) : moderated.part;
  },
});

/**
 * Creates the check of prompts of images, for endpoints that demand it. A prompt is judged once.
 *
 * @returns a function that throws the refusal of an endpoint
 */
export function createPromptModeration({ moderation }: ModerationPorts) {
  const runs = new WeakMap<ModeratedRun, Moderation>();
  return async (run: ModeratedRun, prompt: string, endpoint: EndpointFacts): Promise<void> => {
    const { engine, isRequired } = moderation();
    if (!engine) return;
    const moderated = runs.get(run) ?? new Moderation(run, engine, isRequired);
    runs.set(run, moderated);
    await moderated.admit([{ type: 'message', role: 'user', content: prompt }], endpoint);
  };
}

/** The moderation of one run. Its input is judged once. */
class Moderation {
  private readonly run: ModeratedRun;
  private readonly engine: ModerationEngine;
  private readonly isRequired: boolean;
  private judging: Promise<ModerationVerdict> | undefined;

  constructor(run: ModeratedRun, engine: ModerationEngine, isRequired: boolean) {
    this.run = run;
    this.engine = engine;
    this.isRequired = isRequired;
  }

  /** Skips endpoints that demand moderation if the input is flagged. */
  get part(): PluginPart<PluginRun> {
    return {
      adapt: (request, endpoint) =>
        endpoint.isModerated ? this.admit(request.input, endpoint).then(() => request) : request,
    };
  }

  /** @throws {GatewayError} `permission_denied` if the input is flagged; another endpoint may take it */
  async admit(input: readonly InputItem[], endpoint: EndpointFacts): Promise<void> {
    this.judging ??= this.judge(input);
    const verdict = await this.judging;
    if (verdict.flagged) throw blocked(verdict, endpoint);
  }

  /** @throws {GatewayError} `permission_denied` if the input is flagged */
  async reject(input: readonly InputItem[], model: string | undefined): Promise<undefined> {
    const verdict = await this.judge(input);
    if (verdict.flagged) throw blocked(verdict, undefined, model);
  }

  private async judge(input: readonly InputItem[]): Promise<ModerationVerdict> {
    const content = await collectContent(input, nextTurn);
    if (content.texts.length === 0 && content.images.length === 0) return notFlagged;
    try {
      const verdict = await this.engine.judge(content, this.run);
      if (verdict.flagged) this.report(verdict);
      return verdict;
    } catch (error) {
      if (!(error instanceof ModerationFailure)) throw error;
      if (this.isRequired) {
        const message = `The input could not be moderated, and this gateway requires it: ${error.message}`;
        throw new GatewayError('unavailable', message, { retryable: true, isTransient: false, cause: error });
      }
      this.reportSkipped(error.message);
      return notFlagged;
    }
  }

  private report({ reasons, confidence }: ModerationVerdict): void {
    this.run.stages.push({
      type: 'guardrail',
      name: 'moderation',
      summary: 'The input was flagged.',
      data: {
        flagged: true,
        decision: 'blocked',
        ...(confidence !== undefined && { confidence_level: confidence }),
        action: 'blocked',
        detected: true,
        engines: [this.engine.name],
        patterns: reasons,
      },
    });
  }

  private reportSkipped(reason: string): void {
    this.run.stages.push({
      type: 'guardrail',
      name: 'moderation',
      summary: `The input was not moderated: ${reason}`,
      data: { flagged: false, decision: 'skipped', detected: false, engines: [this.engine.name], patterns: [] },
    });
  }
}

/** The name of the caller's own plugin, where another block names the provider that demanded moderation. */
const PLUGIN_NAME = 'moderation';
/** Characters of the flagged input in an error. */
const MAX_SHOWN = 100;

/** @param endpoint that demanded the moderation; undefined: the request did */
function blocked(
  { reasons, text }: ModerationVerdict,
  endpoint: EndpointFacts | undefined,
  model?: string,
): GatewayError {
  const where = endpoint ? ` ${endpoint.model} at ${endpoint.provider.name} accepts only moderated inputs.` : '';
  return new GatewayError('permission_denied', `Request blocked by moderation: ${reasons.join(', ')}.${where}`, {
    retryable: endpoint !== undefined,
    metadata: {
      reasons,
      flagged_input: cutMiddle(text ?? '[image]', MAX_SHOWN - 2, () => '…').toWellFormed(),
      provider_name: endpoint?.provider.name ?? PLUGIN_NAME,
      model_slug: endpoint?.model ?? model ?? '',
    },
  });
}

const notConfigured = (): GatewayError => {
  const message = 'names `moderation`, which this gateway has no engine for. Set `plugins.moderation.url` or `model`.';
  return new GatewayError('invalid_request', `plugins: ${message}`, {
    metadata: { issues: [{ path: 'plugins', message }] },
  });
};
