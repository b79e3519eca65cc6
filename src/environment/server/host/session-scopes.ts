import { AsyncLocalStorage } from 'node:async_hooks';
import { guardStdout } from '../stdout-guard.ts';

/** The session that code runs for, one of many in this process. */
export interface SessionScope {
  /** The name that the starter gave it. */
  readonly session: string;
  /** Receives output of its code. Returns false after the session has ended. */
  print(text: string | Uint8Array): boolean;
}

/** Knows for which session code runs, also in timers and callbacks. */
export class SessionScopes {
  readonly #storage = new AsyncLocalStorage<SessionScope>();
  readonly #writeToLog = process.stderr.write.bind(process.stderr);

  /** The session of the running code. Undefined if it belongs to no session. */
  current(): SessionScope | undefined {
    return this.#storage.getStore();
  }

  run<T>(scope: SessionScope, work: () => T): T {
    return this.#storage.run(scope, work);
  }

  /** Reports an error to a session, or to the log of the process if the session has ended. */
  report(scope: SessionScope, text: string): void {
    if (!scope.print(`proctor: ${text}\n`)) this.toLog(`proctor: ${text}\n`);
  }

  /** Writes to the log of the process, whichever session is running. */
  toLog(text: string): void {
    this.#writeToLog(text);
  }

  /**
   * Redirects standard output and standard error, so that each session gets what its code prints. All other output goes
   * to the log of the process, also that of child processes and native code.
   */
  takeOutput(): void {
    const write = this.#writeToLog;
    // Both streams break when the starter ends. That ends the sessions, but their close hooks must still run.
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
    // Redirects standard output to the standard error that was replaced above.
    guardStdout();
  }
}
