import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative, resolve, sep } from 'node:path';
import { ToolError } from 'proctor';

export interface CommandLimits {
  readonly timeoutMs: number;
  /** Characters of standard output and error together; what comes after is dropped. */
  readonly outputLength: number;
}

export interface CommandResult {
  /** Null where a signal ended it. */
  readonly exit_code: number | null;
  readonly output: string;
  readonly timed_out: boolean;
}

/**
 * A temporary directory of one session.
 *
 * It is no sandbox. Paths that leave it are refused, which catches mistakes; a command runs as the user who started the
 * environment, and can do whatever that user can.
 */
export class Workspace {
  readonly #running = new Set<AbortController>();
  #root = '';

  /** Makes the directory. Whoever opens it closes it. */
  async open(): Promise<void> {
    this.#root = await mkdtemp(join(tmpdir(), '__name__-'));
  }

  /** Ends what still runs, and removes the directory. */
  async close(): Promise<void> {
    for (const command of this.#running) command.abort();
    if (this.#root !== '') await rm(this.#root, { recursive: true, force: true, maxRetries: 3 });
  }

  /** Leaves exactly these files. */
  async reset(files: Readonly<Record<string, string>>): Promise<void> {
    for (const name of await readdir(this.#root)) await rm(join(this.#root, name), { recursive: true, force: true });
    for (const [path, content] of Object.entries(files)) await this.write(path, content);
  }

  /** Every file, relative to the directory. */
  async list(): Promise<string[]> {
    const entries = await readdir(this.#root, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => !entry.isDirectory());
    return files.map((entry) => relative(this.#root, join(entry.parentPath, entry.name))).sort();
  }

  async read(path: string): Promise<string> {
    const file = this.#resolve(path);
    return readFile(file, 'utf8').catch(() => {
      throw new ToolError(`There is no file ${path} that can be read.`);
    });
  }

  async write(path: string, content: string): Promise<void> {
    const file = this.#resolve(path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }

  /** Runs a command of the shell in the directory, within its limits; it ends early when the signal is aborted. */
  async run(command: string, limits: CommandLimits, signal: AbortSignal): Promise<CommandResult> {
    const closing = new AbortController();
    this.#running.add(closing);
    try {
      return await runCommand(command, this.#root, limits, AbortSignal.any([signal, closing.signal]));
    } finally {
      this.#running.delete(closing);
    }
  }

  #resolve(path: string): string {
    const file = resolve(this.#root, path);
    if (file.startsWith(this.#root + sep)) return file;
    throw new ToolError(`${path} is not in the working directory. Use paths such as src/index.js.`);
  }
}

function runCommand(
  command: string,
  directory: string,
  { timeoutMs, outputLength }: CommandLimits,
  signal: AbortSignal,
): Promise<CommandResult> {
  signal.throwIfAborted();
  const child = spawn('/bin/sh', ['-c', command], {
    cwd: directory,
    // No variable of ours but the way to programs, Node.js among them: the others may hold keys.
    env: { PATH: [dirname(process.execPath), process.env.PATH].join(delimiter), HOME: directory, LANG: 'C.UTF-8' },
    // A group of its own, so that what the command started is ended with it.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kill = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The group is gone already.
    }
  };
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(0, outputLength);
    });
  }
  return new Promise((done, fail) => {
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      kill();
    }, timeoutMs);
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', kill);
    };
    signal.addEventListener('abort', kill, { once: true });
    child.once('exit', kill);
    child.once('error', (error) => {
      end();
      fail(error);
    });
    child.once('close', (code) => {
      end();
      done({ exit_code: code, output, timed_out: timedOut });
    });
  });
}
