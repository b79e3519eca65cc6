import { randomBytes } from 'node:crypto';
import { type HostReport, type HostStart, hostReportSchema } from '../contract/host.ts';
import { PROCESS_VARIABLES } from '../contract/names.ts';
import type { LogRecord } from '../contract/trace.ts';
import { untilAborted } from '../runtime/deadline.ts';
import { CHANNEL_FD, EnvironmentProcess } from './environment-process.ts';
import { HostConnection, type HostedSessionOptions } from './host-connection.ts';
import { SilenceWatch } from './silence-watch.ts';
import { makeSocketFolder, type SocketFolder } from './socket-folder.ts';

export interface HostProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the process, but the variables of Proctor's own that tell it that it is a host. */
  readonly variables: Readonly<Record<string, string>>;
  /** Wins over what the environment says. */
  readonly sessionsPerProcess?: number | undefined;
  /** MiB that the host and all that it starts may hold together; beyond it they are killed. Default: no limit. */
  readonly memoryMiB?: number | undefined;
  /** Folders that the paths of its last words are shown relative to. */
  readonly folders: readonly string[];
  /** Takes the lines of the log of the process: those that no session printed. */
  readonly onLog?: ((record: Omit<LogRecord, 'at'>) => void) | undefined;
  /** Told once a second. */
  readonly onGauges?: ((gauges: HostGauges) => void) | undefined;
  /** Milliseconds without a word after which it is killed: its thread reports whatever its code does. Default 30,000. */
  readonly silenceMs?: number | undefined;
}

const SILENCE_MS = 30_000;

/** The state of a host, as its own thread measures it. */
export interface HostGauges {
  readonly sessions: number;
  /** p99 of the last 10 s, in milliseconds. */
  readonly lagMs: number;
  readonly residentBytes: number;
}

/** The environment of a host, as it describes itself. */
export interface HostInfo {
  readonly name: string;
  readonly version: string;
  readonly sessionsPerProcess: number;
}

export interface HostEnding {
  /** `asked`: by `drain` or `close`. `failed`: author code ended it. The others killed it. */
  readonly reason: 'asked' | 'failed' | 'stuck' | 'memory' | 'died';
  /** In words that continue "The environment …"; without last words, which are for the developer alone. */
  readonly text: string;
  /** The session whose code ended it, where that is known. */
  readonly session: string | undefined;
}

/** A process that holds many sessions of an environment. Whoever started it closes it. */
export class HostProcess {
  /** Resolves when it is gone, whoever ended it. Never rejects. */
  readonly ended: Promise<HostEnding>;

  readonly #options: HostProcessOptions;
  readonly #process: EnvironmentProcess;
  readonly #folder: SocketFolder;
  readonly #silence: SilenceWatch;
  readonly #secret = randomBytes(32).toString('base64url');
  #resolveEnded: (ending: HostEnding) => void = () => {};
  #resolveInfo: (info: HostInfo) => void = () => {};
  #told: Extract<HostReport, { kind: 'failed' | 'stuck' }> | undefined;
  /** Milliseconds for which it had said nothing when it was killed for that. */
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
    const { command, args, variables, memoryMiB, folders, onLog, silenceMs = SILENCE_MS } = options;
    this.#silence = new SilenceWatch(silenceMs, (ms) => {
      this.#silentMs = ms;
      this.#process.kill();
    });
    this.#process = new EnvironmentProcess({
      command,
      args,
      variables: { ...variables, [PROCESS_VARIABLES.hostFd]: String(CHANNEL_FD) },
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

  /** The last lines of the log of the process, for the developer alone; empty where there are none. */
  get lastWords(): string {
    return this.#process.lastWords;
  }

  /**
   * Starts it, and waits until it takes connections.
   *
   * @throws Error that says how it ended; the reason of the signal. Either way nothing of it is left.
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

  /** A transport to a new session. `start` of it connects. */
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

  /** It takes no new session, and ends with the last one. */
  drain(): void {
    this.#isDraining = true;
    this.#process.tell(JSON.stringify({ kind: 'drain' }));
  }

  /** SIGTERM, so that shutdown hooks run, and SIGKILL after the budget. Never rejects. */
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
    // It may have been asked to end a moment ago. Only when it is gone, and read to its end, all is known.
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
      const text = `was killed: its event loop had not turned for ${Math.round(told.ms / 1_000)} s`;
      return { reason: 'stuck', text, session: undefined };
    }
    if (this.#silentMs !== undefined) {
      const text = `was killed: it had given no sign of life for ${Math.round(this.#silentMs / 1_000)} s`;
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
