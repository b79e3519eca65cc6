import { randomBytes } from 'node:crypto';
import { type HostReport, type HostStart, hostReportSchema } from '../../contract/host.ts';
import { PROCESS_VARIABLES } from '../../contract/names.ts';
import type { LogRecord } from '../../contract/service/trace.ts';
import { untilAborted } from '../../support/runtime/deadline.ts';
import type { WithheldVariables } from './child-variables.ts';
import { CHANNEL_FD, EnvironmentProcess } from './environment-process.ts';
import { HostConnection, type HostedSessionOptions } from './host-connection.ts';
import { SilenceWatch } from './silence-watch.ts';
import { makeSocketFolder, type SocketFolder } from './socket-folder.ts';

export interface HostProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** All environment variables of the process, except those with which Proctor makes it a host. */
  readonly variables: Readonly<Record<string, string>>;
  /** The withheld variables, as in `ProcessOptions`. */
  readonly withheld?: WithheldVariables | undefined;
  /** Overrides the number in the environment's code. */
  readonly sessionsPerProcess?: number | undefined;
  /** MiB that the host and its child processes may use together. Above the limit they are killed. Default: no limit. */
  readonly memoryMiB?: number | undefined;
  /** Folders that are removed from paths in the last output. */
  readonly folders: readonly string[];
  /** Receives the log lines of the process that no session printed. */
  readonly onLog?: ((record: Omit<LogRecord, 'at'>) => void) | undefined;
  /** Called once a second with the state of the host. */
  readonly onGauges?: ((gauges: HostGauges) => void) | undefined;
  /**
   * Milliseconds without a report after which the host is killed. A separate thread reports, so busy code does not
   * delay it. Default 30,000.
   */
  readonly silenceMs?: number | undefined;
}

const SILENCE_MS = 30_000;

/** The state of a host, measured by a separate thread in it. */
export interface HostGauges {
  readonly sessions: number;
  /** Lag of the event loop in milliseconds: the 99th percentile of the last 10 seconds. */
  readonly lagMs: number;
  readonly residentBytes: number;
}

/** The environment of a host, as the host reports it. */
export interface HostInfo {
  readonly name: string;
  readonly version: string;
  readonly sessionsPerProcess: number;
}

export interface HostEnding {
  /** `asked`: by `drain` or `close`. `failed`: author code ended it. The others killed it. */
  readonly reason: 'asked' | 'failed' | 'stuck' | 'memory' | 'died';
  /**
   * The description without the last output, which only the developer may see. The text continues "The environment …".
   */
  readonly text: string;
  /** The session whose code ended the host, if that is known. */
  readonly session: string | undefined;
}

/** A process that holds many sessions of an environment. The caller that starts it has to close it. */
export class HostProcess {
  /** Resolves when the process has ended, for any reason. Never rejects. */
  readonly ended: Promise<HostEnding>;

  readonly #options: HostProcessOptions;
  readonly #process: EnvironmentProcess;
  readonly #folder: SocketFolder;
  readonly #silence: SilenceWatch;
  readonly #secret = randomBytes(32).toString('base64url');
  #resolveEnded: (ending: HostEnding) => void = () => {};
  #resolveInfo: (info: HostInfo) => void = () => {};
  #told: Extract<HostReport, { kind: 'failed' | 'stuck' }> | undefined;
  /** Milliseconds without a report, set if the host was killed for that. */
  #silentMs: number | undefined;
  #ending: HostEnding | undefined;
  #isDraining = false;
  #isClosing = false;

  constructor(options: HostProcessOptions) {
    this.#options = options;
    this.#folder = makeSocketFolder();
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    const { command, args, variables, withheld, memoryMiB, folders, onLog, silenceMs = SILENCE_MS } = options;
    this.#silence = new SilenceWatch(silenceMs, (ms) => {
      this.#silentMs = ms;
      this.#process.kill();
    });
    this.#process = new EnvironmentProcess({
      command,
      args,
      variables: { ...variables, [PROCESS_VARIABLES.hostFd]: String(CHANNEL_FD) },
      withheld,
      hasOwnDescriptors: true,
      startsLow: 'host',
      harnessKey: undefined,
      folders,
      onLog,
      memoryMiB,
      onChannelLine: (line) => this.#hear(line),
    });
    this.#process.onclose = () => void this.#settle();
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** The last lines of the process's log, which only the developer may see. Empty if there are none. */
  get lastWords(): string {
    return this.#process.lastWords;
  }

  /**
   * Starts the host and waits until it accepts connections.
   *
   * @throws Error that says how it ended; the reason of the signal. In both cases the process is ended.
   */
  async start(signal?: AbortSignal): Promise<HostInfo> {
    const listening = new Promise<HostInfo>((resolve) => {
      this.#resolveInfo = resolve;
    });
    const start: HostStart = {
      kind: 'start',
      socket: this.#folder.socket,
      secret: this.#secret,
      ...(this.#options.sessionsPerProcess === undefined
        ? {}
        : { sessions_per_process: this.#options.sessionsPerProcess }),
    };
    try {
      signal?.throwIfAborted();
      await this.#process.start();
      this.#process.tell(JSON.stringify(start));
      return await untilEnded(listening, this.ended, signal);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Makes a transport to a new session. Its `start` connects. */
  connect(options: HostedSessionOptions): HostConnection {
    const { folders } = this.#options;
    const address = {
      socket: this.#folder.socket,
      secret: this.#secret,
      folders,
      gone: this.ended,
      endingFor: (session: string) => this.#endingFor(session),
    };
    return new HostConnection(address, options);
  }

  /** Stops taking new sessions. The host ends with its last session. */
  drain(): void {
    this.#isDraining = true;
    this.#process.tell(JSON.stringify({ kind: 'drain' }));
  }

  /** Sends SIGTERM, so that shutdown hooks run, and SIGKILL after the time limit. Never rejects. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#settle();
  }

  #hear(line: string): void {
    const report = parseReport(line);
    this.#silence.hear();
    if (report?.kind === 'gauges') {
      const { sessions, lag_ms: lagMs, resident_bytes: residentBytes } = report;
      this.#options.onGauges?.({ sessions, lagMs, residentBytes });
    } else if (report?.kind === 'listening') {
      const { name, version, sessions_per_process: sessionsPerProcess } = report;
      this.#process.ready();
      this.#silence.start();
      this.#resolveInfo({ name, version, sessionsPerProcess });
    } else if (report !== undefined) this.#told ??= report;
  }

  #endingFor(session: string): string | undefined {
    const ending = this.#ending;
    if (ending === undefined) return undefined;
    if (ending.reason !== 'failed' || ending.session === session) return ending.text;
    return 'was ended, with the process that it shared, by the code of another session';
  }

  async #settle(): Promise<void> {
    this.#silence.stop();
    // The process may have been asked to end a moment ago. The reason is complete only after it has ended and its
    // output was read.
    await this.#process.close();
    if (this.#ending !== undefined) return;
    this.#ending = this.#describeEnding();
    this.#folder.remove();
    this.#resolveEnded(this.#ending);
  }

  #describeEnding(): HostEnding {
    const { status = 'was ended', isOverMemory } = this.#process;
    const told = this.#told;
    if (isOverMemory) return { reason: 'memory', text: status, session: undefined };
    if (told?.kind === 'failed') return { reason: 'failed', text: told.text, session: told.session ?? undefined };
    if (told?.kind === 'stuck') {
      const text = `was killed: its event loop was blocked for ${Math.round(told.ms / 1_000)} s`;
      return { reason: 'stuck', text, session: undefined };
    }
    if (this.#silentMs !== undefined) {
      const text = `was killed: it sent no report for ${Math.round(this.#silentMs / 1_000)} s`;
      return { reason: 'stuck', text, session: undefined };
    }
    const isAsked = this.#isClosing || (this.#isDraining && status === 'exited with code 0');
    return { reason: isAsked ? 'asked' : 'died', text: status, session: undefined };
  }
}

function untilEnded(
  listening: Promise<HostInfo>,
  ended: Promise<HostEnding>,
  signal: AbortSignal | undefined,
): Promise<HostInfo> {
  const either = new Promise<HostInfo>((resolve, reject) => {
    void listening.then(resolve);
    void ended.then(({ text }) => reject(new Error(`The environment ${text}`)));
  });
  return signal === undefined ? either : untilAborted(either, signal);
}

function parseReport(line: string): HostReport | undefined {
  try {
    return hostReportSchema.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}
