import { AsyncLocalStorage } from 'node:async_hooks';
import { guardStdout } from '../stdout-guard.ts';

/** The session that a piece of code runs for: one of many in this process. */
export interface SessionScope {
  /** As its starter named it. */
  readonly session: string;
  /** Takes text that its code prints. False once it has ended. */
  print(text: string | Uint8Array): boolean;
}

/** Knows for which session code runs, timers and callbacks of its calls included. */
export class SessionScopes {
  readonly #storage = new AsyncLocalStorage<SessionScope>();
  readonly #writeToLog = process.stderr.write.bind(process.stderr);

  /** The session of the code that asks; undefined where it is none's. */
  current(): SessionScope | undefined {
    return this.#storage.getStore();
  }

  run<T>(scope: SessionScope, work: () => T): T {
    return this.#storage.run(scope, work);
  }

  /** Tells a session, or else the log of the process, one thing that went wrong. */
  report(scope: SessionScope, text: string): void {
    if (!scope.print(`proctor: ${text}\n`)) this.toLog(`proctor: ${text}\n`);
  }

  /** Writes to the log of the process, whoever asks. */
  toLog(text: string): void {
    this.#writeToLog(text);
  }

  /**
   * From now on gives each session what its code writes to standard output and standard error. The rest goes to the log of
   * the process: what no session printed, and what their processes and native code write.
   */
  takeOutput(): void {
    const write = this.#writeToLog;
    // Both streams break when the starter dies: that ends the sessions, and must not cut their close hooks short.
    process.stdout.on('error', () => {});
    process.stderr.on('error', () => {});
    const own = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
      const scope = this.current();
      if (scope?.print(chunk) !== true) return write(chunk, ...(rest as []));
      const callback = rest.find((one): one is () => void => typeof one === 'function');
      if (callback !== undefined) process.nextTick(callback);
      return true;
    };
    process.stderr.write = own;
    // Standard output follows standard error as that is now.
    guardStdout();
  }
}
