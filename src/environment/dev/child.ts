import { basename, dirname, resolve } from 'node:path';
import { PROCESS_VARIABLES } from '../../contract/names.ts';
import { builtFile } from '../../support/runtime/built-file.ts';
import { withDeadline } from '../../support/runtime/deadline.ts';
import { CHANNEL_FD, EnvironmentProcess, HARNESS_KEY_FD, PROTOCOL_FD } from '../process/environment-process.ts';
import type { SessionChange } from '../server/session/session-changes.ts';
import { type ChildReport, parseChildReport } from '../server/start/development-reports.ts';

export interface ChildOptions {
  /** Path of the environment's module. */
  readonly path: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly harnessKey: string | undefined;
  /** Receives the output of the environment, line by line. */
  readonly onLine: (line: string) => void;
  readonly onFiles: (files: readonly string[]) => void;
}

export interface EnvironmentInfo {
  readonly name: string;
  readonly version: string;
}

/** Milliseconds after which the load of an environment is given up. */
const LOAD_TIMEOUT_MS = 60_000;

/**
 * A process that has loaded everything except the environment, and loads it on command. A child serves one session and
 * is not used again. The caller that starts a child has to end it.
 */
export class Child {
  readonly process: EnvironmentProcess;
  /** Called for every change in its session, even if the client has not asked for notifications. */
  onChange: ((change: SessionChange) => void) | undefined;
  readonly #started: Promise<void>;
  readonly #outcome: Promise<EnvironmentInfo>;
  #settle: { resolve(info: EnvironmentInfo): void; reject(error: Error): void } | undefined;
  #isLoading = false;

  constructor(options: ChildOptions) {
    const path = resolve(options.path);
    const { harnessKey } = options;
    this.process = new EnvironmentProcess({
      command: process.execPath,
      args: [builtFile('environment/server/start/environment-main.js'), path],
      variables: {
        ...options.variables,
        [PROCESS_VARIABLES.protocolFd]: String(PROTOCOL_FD),
        [PROCESS_VARIABLES.developmentFd]: String(CHANNEL_FD),
        ...(harnessKey === undefined ? {} : { [PROCESS_VARIABLES.harnessKeyFd]: String(HARNESS_KEY_FD) }),
      },
      hasOwnDescriptors: true,
      harnessKey,
      folders: [dirname(dirname(path))],
      onLog: ({ message }) => options.onLine(message),
      onChannelLine: (line) => this.#receive(parseChildReport(line), options.onFiles),
    });
    this.#outcome = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#outcome.catch(() => {});
    this.process.onclose = () => {
      const { status } = this.process;
      this.#settle?.reject(
        new Error(`${basename(dirname(path))}/${basename(path)} ${status ?? 'was ended'} while it was loaded`),
      );
    };
    this.#started = this.process.start();
    this.#started.catch((error: unknown) => this.#settle?.reject(error as Error));
  }

  /**
   * Loads the environment. Later calls wait for the first.
   *
   * @throws Error of one line that says where and why the load failed. The process is ended then.
   */
  async load(): Promise<EnvironmentInfo> {
    if (!this.#isLoading) {
      this.#isLoading = true;
      await this.#started;
      this.process.tell('load');
    }
    const toError = (limit: string) => new Error(`Loading the environment took more than ${limit}`);
    try {
      return await withDeadline(() => this.#outcome, { ms: LOAD_TIMEOUT_MS, toError });
    } catch (error) {
      void this.process.disconnect();
      throw error;
    }
  }

  #receive(report: ChildReport | undefined, onFiles: ChildOptions['onFiles']): void {
    if (report?.kind === 'files') onFiles(report.files);
    else if (report?.kind === 'changed') this.onChange?.(report.change);
    else if (report?.kind === 'ready') this.#settle?.resolve(report);
    else if (report?.kind === 'failed') this.#settle?.reject(new Error(report.message));
  }
}
