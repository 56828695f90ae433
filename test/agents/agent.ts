import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Client, type Setting, snippetWith } from '../works-with/client.ts';
import { binFolders } from './installed.ts';
import { startOutside } from './outside.ts';

/** The time limit of an agent for a task; then it is killed with all its descendants. */
const limitMs = 120_000;

/** A running agent in its own home and folder, configured only by its snippet. */
export interface Worksite {
  /** Where the agent works. */
  readonly folder: string;
  /** Runs the agent without a terminal until it ends. */
  run(command: string): Promise<Ended>;
  remove(): Promise<void>;
}

/** How an agent ended. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  /** Machines it tried to reach, other than this one. */
  readonly outside: readonly string[];
}

/** Configures an agent as `docs/works-with.md` documents. */
export async function openWorksite(client: Client, setting: Setting): Promise<Worksite> {
  const outside = await startOutside();
  const home = mkdtempSync(join(tmpdir(), 'naru-agent-'));
  const folder = join(home, 'work');
  const outsideFile = join(home, 'outside');
  mkdirSync(folder);
  writeFileSync(outsideFile, '');
  const snippet = snippetWith(client, setting);
  if (client.file !== null) {
    const file = client.file.replace('~', home);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, snippet);
  }
  // The last line of what is typed starts the agent; a test starts it with a task.
  const typed = client.language === 'sh' ? snippet.trimEnd().split('\n').slice(0, -1) : [];
  const env = {
    HOME: home,
    ...outside.env,
    PATH: [dirname(process.execPath), ...binFolders, '/usr/bin', '/bin'].join(':'),
    NODE_OPTIONS: `--import=${join(import.meta.dirname, 'loopback-only.mjs')}`,
    NARU_OUTSIDE: outsideFile,
    CONTINUE_TELEMETRY_ENABLED: '0',
    QWEN_USAGE_STATISTICS_ENABLED: 'false',
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    KILO_DISABLE_AUTOUPDATE: '1',
    KILO_DISABLE_MODELS_FETCH: '1',
    PI_OFFLINE: '1',
    COPILOT_AUTO_UPDATE: 'false',
  };
  return {
    folder,
    async run(command) {
      // Its own process group, so that no descendant is left running.
      const child = spawn('sh', ['-ec', [...typed, command].join('\n')], {
        cwd: folder,
        env,
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const { pid } = child;
      if (pid === undefined) throw new Error('no shell');
      const timer = setTimeout(() => killGroup(pid), limitMs);
      const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
      const [code, out, err] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
      clearTimeout(timer);
      killGroup(pid);
      const cut = readFileSync(outsideFile, 'utf8').split('\n').filter(Boolean);
      return { code, out, err, outside: [...new Set([...outside.hosts, ...cut])] };
    },
    async remove() {
      await outside.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // No descendant is left.
  }
}
