import { aiSdkCompatible, aiSdkOpenrouter } from './ai-sdk.ts';
import type { Client } from './client.ts';
import { continueAgent } from './continue.ts';
import { langchainOpenai, langchainOpenrouter } from './langchain.ts';
import { openai } from './openai.ts';
import { openrouterSdk } from './openrouter-sdk.ts';
import { qwenCode } from './qwen-code.ts';

/** Every client that the tests set up and use, in the order of README.md. */
export const clients: readonly Client[] = [
  openai,
  openrouterSdk,
  aiSdkCompatible,
  aiSdkOpenrouter,
  langchainOpenai,
  langchainOpenrouter,
  continueAgent,
  qwenCode,
];
