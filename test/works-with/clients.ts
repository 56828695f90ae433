import { aiSdkCompatible, aiSdkOpenrouter } from './ai-sdk.ts';
import type { Client } from './client.ts';
import { cline } from './cline.ts';
import { continueAgent } from './continue.ts';
import { copilot } from './copilot.ts';
import { grokCli } from './grok-cli.ts';
import { kilo } from './kilo.ts';
import { kimiCode } from './kimi-code.ts';
import { langchainOpenai, langchainOpenrouter } from './langchain.ts';
import { openai } from './openai.ts';
import { opencode, opencodeOpenrouter } from './opencode.ts';
import { openrouterSdk } from './openrouter-sdk.ts';
import { pi } from './pi.ts';
import { promptfoo } from './promptfoo.ts';
import {
  aider,
  instructor,
  litellm,
  llamaIndex,
  openaiAgents,
  pydanticAi,
  pythonLangchain,
  pythonOpenai,
} from './python.ts';
import { qwenCode } from './qwen-code.ts';

/** Every client that the tests set up and use, in the order of README.md. */
export const clients: readonly Client[] = [
  openai,
  openrouterSdk,
  aiSdkCompatible,
  aiSdkOpenrouter,
  langchainOpenai,
  langchainOpenrouter,
  pythonOpenai,
  pythonLangchain,
  llamaIndex,
  litellm,
  instructor,
  pydanticAi,
  openaiAgents,
  opencode,
  opencodeOpenrouter,
  cline,
  kilo,
  pi,
  copilot,
  kimiCode,
  grokCli,
  continueAgent,
  qwenCode,
  aider,
  promptfoo,
];
