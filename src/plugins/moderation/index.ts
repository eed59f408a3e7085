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
import type { ResponseRequest } from '../../domain/request.ts';
import { ServiceError } from '../../domain/service.ts';
import { WorkSlices } from '../../domain/work-slices.ts';
import type { Plugin, PluginRun } from '../plugin.ts';
import { collectContent, findAdded, hashContent } from './collect-content.ts';

/** Classifies inputs. */
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
 * Checks what users wrote, and the text of their files, before it is sent. A request that names the plugin is rejected if
 * its input is flagged. If only an endpoint demands it, the endpoint is skipped.
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
    return setting ? moderated.guard(run) : moderated.guardEndpoints(run);
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
    const input: InputItem[] = [{ type: 'message', role: 'user', content: prompt }];
    await moderated.admitInput(input, (verdict) => blocked(verdict, endpoint));
  };
}

/** Writes the error for flagged content. */
type Refuse = (verdict: ModerationVerdict) => GatewayError;

/** The moderation of one run. Its input is judged once, and so is each text that becomes of its files. */
class Moderation {
  private readonly run: ModeratedRun;
  private readonly slices: WorkSlices;
  private readonly engine: ModerationEngine;
  private readonly isRequired: boolean;
  private judging: Promise<ModerationVerdict> | undefined;
  /** The verdicts on what plugins have added, by its hash. */
  private readonly ofAdded = new Map<string, Promise<ModerationVerdict>>();
  /** Why content was not judged, as reported last. */
  private skippedFor: string | undefined;

  constructor(run: ModeratedRun, engine: ModerationEngine, isRequired: boolean) {
    this.run = run;
    this.slices = new WorkSlices(nextTurn, run.cancellation);
    this.engine = engine;
    this.isRequired = isRequired;
  }

  /**
   * Rejects a run if its input is flagged, or later the text of its files.
   *
   * @throws {GatewayError} `permission_denied`
   */
  async guard(run: PluginRun): Promise<PluginPart<PluginRun>> {
    const { model, models } = run.request;
    const refuse = (verdict: ModerationVerdict) => blocked(verdict, undefined, model ?? models?.[0]);
    await this.admitInput(run.input.read(), refuse);
    return {
      adapt: (request) => {
        const input = run.input.read();
        return request.input === input ? request : this.admitAdded(input, request, refuse);
      },
    };
  }

  /** Skips endpoints that demand moderation if the input, or the text of its files, is flagged. */
  guardEndpoints(run: PluginRun): PluginPart<PluginRun> {
    return {
      adapt: (request, endpoint) => {
        if (!endpoint.isModerated) return request;
        const input = run.input.read();
        const refuse = (verdict: ModerationVerdict) => blocked(verdict, endpoint);
        return this.admitInput(input, refuse).then(() => this.admitAdded(input, request, refuse));
      },
    };
  }

  /** @throws {GatewayError} what `refuse` returns if the input is flagged */
  async admitInput(input: readonly InputItem[], refuse: Refuse): Promise<void> {
    this.judging ??= this.slices.run(collectContent(input)).then((content) => this.judge(content));
    const verdict = await this.judging;
    if (verdict.flagged) throw refuse(verdict);
  }

  /** @throws {GatewayError} what `refuse` returns if something that plugins have added to the input is flagged */
  private async admitAdded(
    input: readonly InputItem[],
    request: ResponseRequest,
    refuse: Refuse,
  ): Promise<ResponseRequest> {
    const { slices } = this;
    const content = await slices.run(collectContent(await slices.run(findAdded(input, request.input))));
    const hash = await slices.run(hashContent(content));
    const judging = this.ofAdded.get(hash) ?? this.judge(content);
    this.ofAdded.set(hash, judging);
    const verdict = await judging;
    if (verdict.flagged) throw refuse(verdict);
    return request;
  }

  private async judge(content: ModeratedContent): Promise<ModerationVerdict> {
    if (content.texts.length === 0 && content.images.length === 0) return notFlagged;
    try {
      const verdict = await this.engine.judge(content, this.run);
      if (verdict.flagged) this.report(verdict);
      return verdict;
    } catch (error) {
      if (!(error instanceof ModerationFailure)) throw error;
      if (this.isRequired) {
        const message = `The input could not be moderated, and this gateway requires it: ${error.message}`;
        const { cause } = error;
        const isRejected = cause instanceof ServiceError && cause.rejectsKey;
        const kind = isRejected ? 'upstream_key_rejected' : 'unavailable';
        throw new GatewayError(kind, message, { retryable: true, isTransient: false, cause: error });
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
    if (reason === this.skippedFor) return;
    this.skippedFor = reason;
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
