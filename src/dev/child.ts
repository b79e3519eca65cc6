import { basename, dirname, resolve } from 'node:path';
import { PROCESS_VARIABLES } from '../contract/names.ts';
import { type ChildReport, parseChildReport } from '../mcp/development-reports.ts';
import type { SessionChange } from '../mcp/session/session-changes.ts';
import { CHANNEL_FD, EnvironmentProcess, HARNESS_KEY_FD, PROTOCOL_FD } from '../process/environment-process.ts';
import { builtFile } from '../runtime/built-file.ts';
import { withDeadline } from '../runtime/deadline.ts';

export interface ChildOptions {
  /** Path of the environment's module. */
  readonly path: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly harnessKey: string | undefined;
  /** Takes what the environment prints, a line at a time. */
  readonly onLine: (line: string) => void;
  readonly onFiles: (files: readonly string[]) => void;
}

export interface EnvironmentInfo {
  readonly name: string;
  readonly version: string;
}

/** Loading an environment that is slower than this is given up. */
const LOAD_TIMEOUT_MS = 60_000;

/**
 * A process that has loaded everything but the environment, and loads it when told to. One child serves one session and
 * is never used again. Whoever started it ends it.
 */
export class Child {
  readonly process: EnvironmentProcess;
  /** Told of what changes in its session, whether or not its client has asked to be. */
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
      args: [builtFile('mcp/environment-main.js'), path],
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
   * Loads the environment; later calls wait for the first.
   *
   * @throws Error of one line that says where and why it could not be loaded. The process ends then.
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
