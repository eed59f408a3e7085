import { describe, expect, it } from 'vitest';
import { hello, writeTo } from '../../../tests/wires/write-to.ts';
import type { InputItem } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { Target } from '../wire.ts';
import { writeRequest } from './request.ts';

const write = writeTo(writeRequest, { upstreamModel: 'gemini-2.5-flash' });

const configOf = (request: Partial<ResponseRequest>, target?: Partial<Target>) => {
  const { body, dropped } = write(request, target);
  return { ...(body.generationConfig as { thinkingConfig?: object } | undefined), dropped };
};

describe('reasoning', () => {
  const think = (reasoning: ResponseRequest['reasoning'], model: string, more: Partial<ResponseRequest> = {}) => {
    const { thinkingConfig, dropped } = configOf({ reasoning: reasoning!, ...more }, { upstreamModel: model });
    return { config: thinkingConfig, dropped };
  };

  it.each<[ResponseRequest['reasoning'], string, object, string[]]>([
    [{ effort: 'low' }, 'gemini-2.5-flash', { thinkingBudget: 6400 }, []],
    [{ effort: 'max' }, 'gemini-2.5-flash', { thinkingBudget: 24_576 }, []],
    [{ effort: 'none' }, 'gemini-2.5-flash', { includeThoughts: false, thinkingBudget: 0 }, []],
    [{ enabled: false }, 'gemini-2.5-pro', { thinkingBudget: 128 }, ['reasoning.effort (none → 128 tokens)']],
    [{ enabled: true }, 'gemini-2.5-pro', { includeThoughts: true, thinkingBudget: 16_000 }, []],
    [{ enabled: true }, 'gemini-3-flash', { includeThoughts: true, thinkingLevel: 'medium' }, []],
    [{ summary: 'auto' }, 'gemini-2.5-pro', { includeThoughts: true }, []],
    [{ summary: 'detailed' }, 'gemini-3-flash', { includeThoughts: true }, ['reasoning.summary (detailed)']],
    [{ max_tokens: 0 }, 'gemini-2.5-flash', { includeThoughts: false, thinkingBudget: 0 }, []],
    [
      { max_tokens: 0 },
      'gemini-3-pro',
      { includeThoughts: false, thinkingLevel: 'low' },
      ['reasoning.effort (none → low)'],
    ],
    [{ effort: 'high', max_tokens: 9 }, 'gemini-3-pro', { thinkingLevel: 'high' }, ['reasoning.max_tokens']],
    [{ effort: 'high', max_tokens: 900 }, 'gemini-2.5-pro', { thinkingBudget: 900 }, ['reasoning.effort']],
    [{ effort: 'medium' }, 'gemini-3.1-pro-preview', { thinkingLevel: 'medium' }, []],
    [{ max_tokens: 50_000 }, 'gemini-2.5-pro', { thinkingBudget: 32_768 }, ['reasoning.max_tokens (50000 → 32768)']],
    [{ max_tokens: 100 }, 'gemini-2.5-flash-lite', { thinkingBudget: 512 }, ['reasoning.max_tokens (100 → 512)']],
    [{ effort: 'medium' }, 'gemini-3-flash', { includeThoughts: true, thinkingLevel: 'medium' }, []],
    // https://github.com/fishjar/kiss-translator/issues/1048
    [{ effort: 'minimal' }, 'gemini-3.7-flash', { thinkingLevel: 'low' }, ['reasoning.effort (minimal → low)']],
    [{ effort: 'max' }, 'gemini-3-flash', { thinkingLevel: 'high' }, []],
    [{ effort: 'medium' }, 'gemini-3-pro-preview', { thinkingLevel: 'low' }, ['reasoning.effort (medium → low)']],
    [{ max_tokens: 2000 }, 'gemini-3-pro-preview', { thinkingBudget: 2000 }, []],
  ])('is requested in the form of the model: %j of %s', (reasoning, model, config, dropped) => {
    expect(think(reasoning, model)).toMatchObject({ config, dropped });
  });

  it('is no matter of models that do not think', () => {
    expect(think({ effort: 'high' }, 'gemini-2.0-flash')).toEqual({ config: undefined, dropped: ['reasoning.effort'] });
  });

  it('is weighed against the output limit, and changed by the last update', () => {
    expect(think({ effort: 'high' }, 'gemini-2.5-flash', { max_output_tokens: 1000 }).config).toMatchObject({
      thinkingBudget: 800,
    });
    const update: InputItem = { type: 'configuration_update', reasoning: { effort: 'none' } };
    expect(think({ effort: 'high' }, 'gemini-2.5-flash', { input: [hello, update] }).config).toMatchObject({
      thinkingBudget: 0,
    });
  });
});
