import type { wires } from '../config/schema.ts';

/** A provider that `headgate init` can write down by itself. */
export interface KnownProvider {
  id: string;
  name: string;
  /** The variable in which its users keep their key. */
  env: string;
  baseUrl: string;
  wire: (typeof wires)[number];
}

/** From the providers' own documentation: the address up to the version, and the usual variable. */
export const knownProviders: readonly KnownProvider[] = [
  {
    id: 'openai',
    name: 'OpenAI',
    env: 'OPENAI_API_KEY',
    baseUrl: 'https://api.openai.com/v1',
    wire: 'openai-responses',
  },
  { id: 'groq', name: 'Groq', env: 'GROQ_API_KEY', baseUrl: 'https://api.groq.com/openai/v1', wire: 'openai-chat' },
  {
    id: 'deepseek',
    name: 'DeepSeek',
    env: 'DEEPSEEK_API_KEY',
    baseUrl: 'https://api.deepseek.com/v1',
    wire: 'openai-chat',
  },
  { id: 'mistral', name: 'Mistral', env: 'MISTRAL_API_KEY', baseUrl: 'https://api.mistral.ai/v1', wire: 'openai-chat' },
  {
    id: 'together',
    name: 'Together',
    env: 'TOGETHER_API_KEY',
    baseUrl: 'https://api.together.xyz/v1',
    wire: 'openai-chat',
  },
  {
    id: 'fireworks',
    name: 'Fireworks',
    env: 'FIREWORKS_API_KEY',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    wire: 'openai-chat',
  },
  {
    id: 'openrouter',
    name: 'OpenRouter',
    env: 'OPENROUTER_API_KEY',
    baseUrl: 'https://openrouter.ai/api/v1',
    wire: 'openai-chat',
  },
  { id: 'xai', name: 'xAI', env: 'XAI_API_KEY', baseUrl: 'https://api.x.ai/v1', wire: 'openai-chat' },
  {
    id: 'cerebras',
    name: 'Cerebras',
    env: 'CEREBRAS_API_KEY',
    baseUrl: 'https://api.cerebras.ai/v1',
    wire: 'openai-chat',
  },
  {
    id: 'moonshot',
    name: 'Moonshot',
    env: 'MOONSHOT_API_KEY',
    baseUrl: 'https://api.moonshot.ai/v1',
    wire: 'openai-chat',
  },
  {
    id: 'perplexity',
    name: 'Perplexity',
    env: 'PERPLEXITY_API_KEY',
    baseUrl: 'https://api.perplexity.ai',
    wire: 'openai-chat',
  },
  {
    id: 'nvidia',
    name: 'NVIDIA',
    env: 'NVIDIA_API_KEY',
    baseUrl: 'https://integrate.api.nvidia.com/v1',
    wire: 'openai-chat',
  },
  {
    id: 'sambanova',
    name: 'SambaNova',
    env: 'SAMBANOVA_API_KEY',
    baseUrl: 'https://api.sambanova.ai/v1',
    wire: 'openai-chat',
  },
  {
    id: 'deepinfra',
    name: 'DeepInfra',
    env: 'DEEPINFRA_API_KEY',
    baseUrl: 'https://api.deepinfra.com/v1/openai',
    wire: 'openai-chat',
  },
  {
    id: 'huggingface',
    name: 'Hugging Face',
    env: 'HF_TOKEN',
    baseUrl: 'https://router.huggingface.co/v1',
    wire: 'openai-chat',
  },
];
