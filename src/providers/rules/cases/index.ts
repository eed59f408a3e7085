import { anthropicCases } from './anthropic.ts';
import { controlCases } from './controls.ts';
import { geminiCases } from './gemini.ts';
import { hostedCases } from './hosted.ts';
import { mistralCases } from './mistral.ts';
import { openaiCases } from './openai.ts';
import { serverCases } from './servers.ts';

export const ruleCases = [
  ...anthropicCases,
  ...controlCases,
  ...geminiCases,
  ...hostedCases,
  ...mistralCases,
  ...openaiCases,
  ...serverCases,
];
