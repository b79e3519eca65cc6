import { type ChildProcess, spawn } from 'node:child_process';
import type { Duplex, Readable } from 'node:stream';
import { type JSONRPCMessage, serializeMessage, type Transport } from '@modelcontextprotocol/client';
import { messageOf } from '../../contract/errors.ts';
import { PROCESS_VARIABLES, SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import { endsWithin } from '../../support/runtime/deadline.ts';
import { LineSplitter } from '../../support/runtime/line-splitter.ts';
import { missedHint } from './child-variables.ts';
import { Confinement } from './confinement.ts';
import { OutputTail, toPlainLine } from './output-tail.ts';
import { parseMessage } from './parse-message.ts';
import { lowerPriority, signalGroup } from './process-group.ts';
import type { ProcessOptions } from './process-options.ts';

/** Maximum number of characters. A longer message ends the connection; a longer printed line is cut. */
export const MAX_MESSAGE_LENGTH = 64 * 1024 * 1024;
const MAX_LOG_LINE_LENGTH = 8 * 1024;
/** Maximum number of invalid lines that are logged. A program that does not serve MCP may print endlessly. */
const MAX_GARBAGE_LINES = 100;
/**
 * Milliseconds to wait for output after the process has exited. A process that left its group may hold the pipe open.
 */
const DRAIN_MS = 1_000;

/** File descriptors of the child, besides the three standard ones. */
export const PROTOCOL_FD = 3;
export const HARNESS_KEY_FD = 4;
export const CHANNEL_FD = 5;

/**
 * An MCP transport to a process that we start, in its own process group. Requests go to its standard input. `close`
 * sends SIGTERM to the group, SIGKILL after the grace period, and resolves when the process has ended. The rest of the
 * group is killed as soon as the leader has exited, and when this process exits. On Linux this includes processes that
 * have left the group, because all of them inherit a variable.
 */
export class EnvironmentProcess implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #options: ProcessOptions;
  readonly #tail: OutputTail;
  readonly #gone: Promise<void>;
  readonly #splitters: LineSplitter[] = [];
  #confinement: Confinement | undefined;
  #resolveGone: () => void = () => {};
  #child: ChildProcess | undefined;
  #exit: { readonly code: number | null; readonly signal: NodeJS.Signals | null } | undefined;
  #failure: string | undefined;
  #isAnnounced = false;
  #garbageLines = 0;
  #ending: Promise<void> | undefined;
  #drainTimer: NodeJS.Timeout | undefined;
  #isReady = false;
  #raisePriority = () => {};

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.#tail = new OutputTail(options.folders);
    this.#gone = new Promise((resolve) => {
      this.#resolveGone = resolve;
    });
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * The way it ended, with its status and its last output. The text continues "The environment …". Undefined while it
   * runs.
   */
  get ending(): string | undefined {
    const { status } = this;
    return status === undefined || this.#confinement?.isOverMemory ? status : this.#withTail(status);
  }

  /** True if it was killed because it or one of its processes used too much memory. */
  get isOverMemory(): boolean {
    return this.#confinement?.isOverMemory === true || this.#heapEnding !== undefined;
  }

  /** `ending` without the last output, which only the developer may see. */
  get status(): string | undefined {
    const failure = this.#failure ?? this.#confinement?.failure;
    if (failure !== undefined || this.#exit === undefined) return failure;
    if (this.#heapEnding !== undefined) return this.#heapEnding;
    const { code, signal } = this.#exit;
    return signal === null ? `exited with code ${code}` : `was ended by the signal ${signal}`;
  }

  /** The last lines on its standard error, which only the developer may see. Empty if there are none. */
  get lastWords(): string {
    return this.#tail.text();
  }

  async start(): Promise<void> {
    if (this.#ending !== undefined) throw new Error('The connection was closed before its process was started');
    const { command, args, variables, cwd, hasOwnDescriptors, memoryMiB = 0 } = this.#options;
    const confinement = new Confinement(memoryMiB);
    this.#confinement = confinement;
    const child = spawn(command, args, {
      env: { ...variables, [PROCESS_VARIABLES.run]: confinement.markValue },
      ...(cwd === undefined ? {} : { cwd }),
      detached: true,
      stdio: hasOwnDescriptors ? this.#ownDescriptors() : ['pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.once('exit', (code, signal) => this.#onExit(code, signal));
    child.once('close', () => this.#onGone());
    if (child.pid !== undefined) {
      confinement.hold(child.pid);
      const { startsLow } = this.#options;
      if (startsLow !== undefined) this.#raisePriority = lowerPriority(child.pid, startsLow);
    }
    this.#attachStreams(child);
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      // The listener stays, because a failed kill is reported here too and must not be thrown.
      child.on('error', (error) => {
        if (child.pid === undefined) {
          this.#failure = `could not be started (${messageOf(error)})`;
          confinement.letGo();
        }
        reject(error);
      });
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    const error = await new Promise<Error | null | undefined>((resolve) => {
      if (stdin?.writable) stdin.write(serializeMessage(message), resolve);
      else resolve(new Error('The process of the environment takes no more requests'));
    });
    if (!error) return;
    // Usually the process has died. Wait until its last output has been read, because that explains the error better.
    await endsWithin(this.#gone, DRAIN_MS);
    throw error;
  }

  /** Marks that the process has loaded its code. Later calls do nothing. */
  ready(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    this.#raisePriority();
    this.#options.onReady?.();
  }

  /** Writes a line to file descriptor 5 of the child. */
  tell(line: string): void {
    const channel = channelOf(this.#child);
    if (channel?.writable) channel.write(`${line}\n`);
  }

  close(): Promise<void> {
    this.#ending ??= this.#end((pid) => signalGroup(pid, 'SIGTERM'));
    return this.#ending;
  }

  /** Kills the process at once, for example if it hangs. */
  kill(): void {
    this.#ending ??= this.#end((pid) => signalGroup(pid, 'SIGKILL'));
  }

  /** Ends the process like a client that disconnects: the end of its input ends it, without shutdown hooks. */
  disconnect(): Promise<void> {
    this.#ending ??= this.#end(() => {
      this.#child?.stdin?.end();
      channelOf(this.#child)?.end();
    });
    return this.#ending;
  }

  get #heapEnding(): string | undefined {
    return this.#exit && this.#confinement?.heapEnding(this.#exit.code, this.#tail.text());
  }

  async #end(ask: (pid: number) => void): Promise<void> {
    const child = this.#child;
    this.#announceClose();
    if (child?.pid === undefined) return;
    const { pid } = child;
    const graceMs = this.#options.graceMs ?? SHUTDOWN_GRACE_MS.environment;
    if (this.#exit === undefined) ask(pid);
    const kill = setTimeout(() => {
      if (this.#exit === undefined) signalGroup(pid, 'SIGKILL');
    }, graceMs);
    // If not even SIGKILL ends the process, because it waits for a device, the service must not wait forever.
    const giveUp = setTimeout(() => this.#onGone(), graceMs + 2 * DRAIN_MS);
    await this.#gone;
    clearTimeout(kill);
    clearTimeout(giveUp);
  }

  #attachStreams(child: ChildProcess): void {
    const { hasOwnDescriptors, harnessKey } = this.#options;
    // EPIPE means that the process exited with unread requests. The exit itself is reported instead.
    child.stdin?.on('error', (error) => this.onerror?.(error));
    if (child.stderr) this.#readLines(child.stderr, MAX_LOG_LINE_LENGTH, (line) => this.#log(line, true));
    if (!hasOwnDescriptors) {
      if (child.stdout) this.#readProtocol(child.stdout);
      return;
    }
    if (child.stdout) this.#readLines(child.stdout, MAX_LOG_LINE_LENGTH, (line) => this.#log(line, false));
    const protocol = child.stdio?.[PROTOCOL_FD] as Duplex | null | undefined;
    const key = child.stdio?.[HARNESS_KEY_FD] as Duplex | null | undefined;
    if (protocol) this.#readProtocol(protocol);
    // If the process dies before it reads the key, this is an ECONNRESET, which needs no report of its own.
    key?.on('error', () => {});
    key?.resume();
    key?.end(harnessKey);
    const { onChannelLine } = this.#options;
    const channel = channelOf(child);
    if (channel && onChannelLine) this.#readLines(channel, MAX_MESSAGE_LENGTH, onChannelLine);
  }

  #ownDescriptors(): ('pipe' | 'ignore')[] {
    const { harnessKey, onChannelLine } = this.#options;
    const key = harnessKey === undefined ? 'ignore' : 'pipe';
    return ['pipe', 'pipe', 'pipe', 'pipe', key, ...(onChannelLine === undefined ? [] : (['pipe'] as const))];
  }

  #readProtocol(stream: Readable): void {
    this.#readLines(stream, MAX_MESSAGE_LENGTH, (line, isCut) => this.#receive(line, isCut));
    stream.once('end', () => this.#onProtocolEnd());
  }

  #readLines(stream: Readable, maxLength: number, onLine: (line: string, isCut: boolean) => void): void {
    const splitter = new LineSplitter(maxLength, onLine);
    this.#splitters.push(splitter);
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => splitter.push(text));
    stream.on('error', (error) => this.onerror?.(error));
  }

  #receive(line: string, isCut: boolean): void {
    if (isCut) {
      this.#fail(`sent a message of more than ${MAX_MESSAGE_LENGTH / 1024 / 1024} MiB`);
      return;
    }
    this.ready(); // Our own processes send an empty line when their code is loaded.
    if (line.trim() === '') return;
    const message = parseMessage(line);
    if (message !== undefined) this.onmessage?.(message);
    else this.#logGarbage(line);
  }

  #logGarbage(line: string): void {
    this.#garbageLines += 1;
    if (this.#garbageLines > MAX_GARBAGE_LINES) return;
    const more = this.#garbageLines === MAX_GARBAGE_LINES ? ' (further ones are not logged)' : '';
    const what = `Not a message of the protocol, on its standard output${more}`;
    this.#log(`${what}: ${line.slice(0, 1_000)}`, true, 'warning');
  }

  #log(line: string, isLastWords: boolean, level: 'info' | 'warning' = 'info'): void {
    const message = toPlainLine(line, this.#options.harnessKey);
    if (message === '') return;
    if (isLastWords) this.#tail.add(message);
    this.#options.onLog?.({ level, logger: 'environment', message });
  }

  /** The protocol's stream has closed. The process is about to exit, or it can never answer again. */
  #onProtocolEnd(): void {
    if (this.#exit !== undefined || this.#ending !== undefined) return;
    void endsWithin(this.#gone, DRAIN_MS).then(() => this.#fail('closed its end of the connection without exiting'));
  }

  #fail(failure: string): void {
    if (this.#exit !== undefined || this.#ending !== undefined) return;
    this.#failure = failure;
    void this.close();
  }

  #onExit(code: number | null, signal: NodeJS.Signals | null): void {
    this.#exit = { code, signal };
    this.#confinement?.clear();
    this.#drainTimer = setTimeout(() => {
      for (const stream of this.#child?.stdio ?? []) stream?.destroy();
    }, DRAIN_MS);
  }

  /** Called when the process has ended and all its output was read, so the last output is complete. */
  #onGone(): void {
    clearTimeout(this.#drainTimer);
    for (const splitter of this.#splitters.splice(0)) splitter.end();
    this.#confinement?.letGo();
    this.#resolveGone();
    this.#announceClose();
  }

  #announceClose(): void {
    if (this.#isAnnounced) return;
    this.#isAnnounced = true;
    this.onclose?.();
  }

  #withTail(ending: string): string {
    const lastWords = this.#tail.text();
    if (lastWords === '') return `${ending} and wrote nothing to its standard error`;
    const { variables, withheld } = this.#options;
    const hint = withheld === undefined ? '' : missedHint(lastWords, withheld, variables);
    return `${ending}. Its last lines on standard error:\n${lastWords}${hint && `\n${hint}`}`;
  }
}

function channelOf(child: ChildProcess | undefined): Duplex | null | undefined {
  // The type definitions of Node.js end at file descriptor 4.
  return (child?.stdio as readonly unknown[] | undefined)?.[CHANNEL_FD] as Duplex | null | undefined;
}
