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
  judge(content: ModeratedContent, run: PluginRun): Promise<ModerationVerdict>;
}

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
    return setting ? moderated.reject() : moderated.part;
  },
});

/** The moderation of one run. Its input is judged once. */
class Moderation {
  private readonly run: PluginRun;
  private readonly engine: ModerationEngine;
  private readonly isRequired: boolean;
  private judging: Promise<ModerationVerdict> | undefined;

  constructor(run: PluginRun, engine: ModerationEngine, isRequired: boolean) {
    this.run = run;
    this.engine = engine;
    this.isRequired = isRequired;
  }

  /** Skips endpoints that demand moderation if the input is flagged. */
  get part(): PluginPart<PluginRun> {
    return {
      adapt: (request, endpoint) => {
        if (!endpoint.isModerated) return request;
        this.judging ??= this.judge(request.input);
        return this.judging.then((verdict) => {
          if (verdict.flagged) throw blocked(verdict, endpoint);
          return request;
        });
      },
    };
  }

  /** Rejects the request if its input is flagged. */
  async reject(): Promise<undefined> {
    const { request, input } = this.run;
    const verdict = await this.judge(input.read());
    if (verdict.flagged) throw blocked(verdict, undefined, request.model ?? request.models?.[0]);
  }

  private async judge(input: readonly InputItem[]): Promise<ModerationVerdict> {
    const content = collectContent(input);
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
