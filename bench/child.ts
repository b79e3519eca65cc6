import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface Child {
  /** "" of one that listens nowhere. */
  readonly url: string;
  readonly pid: number;
  /** Starts what waits for it. */
  go(): void;
  /** Bytes after forced garbage collection. */
  memory(): Promise<NodeJS.MemoryUsage>;
  /** Milliseconds of processor time so far, which other work on the machine does not add to. */
  cpuMs(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts a program that says its `url` over IPC, and answers the questions below; waits until it does. */
export async function start(program: URL, env: Readonly<Record<string, string>> = {}): Promise<Child> {
  const child = spawn(process.execPath, ['--expose-gc', fileURLToPath(program)], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const { url } = (await answerOf(child)) as { url: string };
  return {
    url,
    pid: child.pid ?? 0,
    go: () => void child.send('go'),
    async memory() {
      child.send('memory');
      return (await answerOf(child)) as NodeJS.MemoryUsage;
    },
    async cpuMs() {
      child.send('cpu');
      const { user, system } = (await answerOf(child)) as NodeJS.CpuUsage;
      return (user + system) / 1_000;
    },
    async stop() {
      child.kill('SIGTERM');
      const killer = setTimeout(() => child.kill('SIGKILL'), 5_000);
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      clearTimeout(killer);
    },
  };
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  const onExit = () => ended.abort(new Error(`The server ended with ${child.exitCode ?? child.signalCode}`));
  child.once('exit', onExit);
  try {
    const [answer] = await once(child, 'message', { signal: ended.signal });
    return answer;
  } catch (error) {
    ended.signal.throwIfAborted();
    throw error;
  } finally {
    child.off('exit', onExit);
  }
}
