import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

export const COMMAND = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** `proctor` with these arguments as a line for a shell. The path of the checkout may have spaces. */
export function shellLine(args: readonly string[]): string {
  return [process.execPath, COMMAND, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
}

/** Commands are processes, on machines that have other things to do. */
export const PATIENCE = { timeout: 180_000 } as const;

const ENVIRONMENTS = {
  counter: fileURLToPath(new URL('../../environments/counter', import.meta.url)),
  travel: fileURLToPath(new URL('../../environments/travel', import.meta.url)),
  retail: fileURLToPath(new URL('../../environments/retail', import.meta.url)),
  probe: fileURLToPath(new URL('./fixtures/probe', import.meta.url)),
  gate: fileURLToPath(new URL('../service/runs/fixtures/gate', import.meta.url)),
} as const;

/** A working directory with these environments, until the test ends. */
export function createProject(...environments: (keyof typeof ENVIRONMENTS)[]): string {
  const directory = mkdtempSync(join(tmpdir(), 'proctor-cli-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  mkdirSync(join(directory, 'environments'));
  for (const name of environments) symlinkSync(ENVIRONMENTS[name], join(directory, 'environments', name));
  return directory;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves with the match once standard output and error together hold it; rejects when the command ends before. */
  prints(pattern: RegExp): Promise<RegExpExecArray>;
}

export interface CommandOptions extends Pick<SpawnOptions, 'stdio'> {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts `proctor` with these arguments; killed with all that it started when the test ends. */
export function start(args: readonly string[], options: CommandOptions): Running {
  const child = spawn(process.execPath, [COMMAND, ...args], {
    cwd: options.cwd,
    env: { ...cleanVariables(), ...options.env },
    stdio: options.stdio ?? ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  const listeners = new Set<() => void>();
  const announce = () => {
    for (const listener of listeners) listener();
  };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    announce();
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    announce();
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    process: child,
    ended,
    prints: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const match = pattern.exec(stdout) ?? pattern.exec(stderr);
          if (match === null) return;
          listeners.delete(look);
          resolve(match);
        };
        listeners.add(look);
        look();
        ended.then((end) => {
          look();
          reject(new Error(`It ended without printing ${pattern}: ${JSON.stringify(end)}`));
        }, reject);
      }),
  };
}

/** Runs `proctor` with these arguments to its end. */
export function proctor(args: readonly string[], options: CommandOptions): Promise<Ended> {
  return start(args, options).ended;
}

/** A port that something else listens on, until the test ends. */
export async function takenPort(): Promise<string> {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void other.close());
  const address = other.address();
  if (typeof address !== 'object' || address === null) throw new Error('No port');
  return String(address.port);
}

/** What this process was started with must not decide how a test ends. */
function cleanVariables(): NodeJS.ProcessEnv {
  const isForeign = (name: string) => /^(PROCTOR|OPENAI)_|^(NO_COLOR|FORCE_COLOR|CI|RETAIL_DATA|VITEST)/.test(name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isForeign(name)));
}
