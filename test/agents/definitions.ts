import type { Client } from '../works-with/client.ts';
import { cline } from '../works-with/cline.ts';
import { continueAgent } from '../works-with/continue.ts';
import { copilot } from '../works-with/copilot.ts';
import { grokCli } from '../works-with/grok-cli.ts';
import { kilo } from '../works-with/kilo.ts';
import { kimiCode } from '../works-with/kimi-code.ts';
import { opencode, opencodeOpenrouter } from '../works-with/opencode.ts';
import { pi } from '../works-with/pi.ts';
import { qwenCode } from '../works-with/qwen-code.ts';

/** An agent and its names. */
export interface Agent {
  readonly client: Client;
  /** Starts it without a terminal, free to use its tools. */
  readonly command: (task: string, model: string) => string;
  /**
   * Hosts that it contacts for news about itself or about models, which cannot be disabled; they
   * are not reached.
   */
  readonly contactedHosts: readonly string[];
  readonly read: (path: string) => ToolCall;
  readonly write: (path: string, content: string) => ToolCall;
}

/** A tool and its arguments as a model sends them. */
export interface ToolCall {
  readonly name: string;
  readonly args: object;
}

const opencodeTools: Pick<Agent, 'read' | 'write'> = {
  read: (filePath) => ({ name: 'read', args: { filePath } }),
  write: (filePath, content) => ({ name: 'write', args: { filePath, content } }),
};

/** Every agent that `npm run test:agents` runs. */
export const agents: readonly Agent[] = [
  {
    client: continueAgent,
    command: (task) => `cn --print --auto "${task}"`,
    contactedHosts: ['api.continue.dev'],
    read: (filepath) => ({ name: 'Read', args: { filepath } }),
    write: (filepath, content) => ({ name: 'Write', args: { filepath, content } }),
  },
  {
    client: qwenCode,
    command: (task) => `qwen --yolo --prompt "${task}"`,
    contactedHosts: [],
    read: (path) => ({ name: 'read_file', args: { file_path: path } }),
    write: (path, content) => ({ name: 'write_file', args: { file_path: path, content } }),
  },
  {
    client: opencode,
    command: (task) => `opencode run "${task}"`,
    contactedHosts: ['registry.npmjs.org'],
    ...opencodeTools,
  },
  {
    client: opencodeOpenrouter,
    command: (task) => `opencode run "${task}"`,
    contactedHosts: ['registry.npmjs.org'],
    ...opencodeTools,
  },
  {
    client: kilo,
    command: (task) => `kilo run --auto "${task}"`,
    contactedHosts: ['us.i.posthog.com', 'api.kilo.ai'],
    ...opencodeTools,
  },
  {
    client: cline,
    command: (task) => `cline "${task}"`,
    contactedHosts: ['otel.cline.bot', 'data.cline.bot'],
    read: (path) => ({ name: 'read_files', args: { files: [{ path }] } }),
    write: (path, new_text) => ({ name: 'editor', args: { path, new_text } }),
  },
  {
    client: pi,
    command: (task, model) => `pi --provider naru --model ${model} --print "${task}"`,
    contactedHosts: [],
    read: (path) => ({ name: 'read', args: { path } }),
    write: (path, content) => ({ name: 'write', args: { path, content } }),
  },
  {
    client: copilot,
    command: (task) => `copilot --allow-all-tools --prompt "${task}"`,
    contactedHosts: ['api.github.com'],
    read: (path) => ({ name: 'view', args: { path } }),
    write: (path, content) => ({ name: 'create', args: { path, file_text: content } }),
  },
  {
    client: kimiCode,
    command: (task) => `kimi --prompt "${task}"`,
    contactedHosts: ['code.kimi.com', 'telemetry-logs.kimi.com'],
    read: (path) => ({ name: 'Read', args: { path } }),
    write: (path, content) => ({ name: 'Write', args: { path, content } }),
  },
  {
    client: grokCli,
    command: (task) => `grok --prompt "${task}"`,
    contactedHosts: [],
    read: (path) => ({ name: 'view_file', args: { path } }),
    write: (path, content) => ({ name: 'create_file', args: { path, content } }),
  },
];
