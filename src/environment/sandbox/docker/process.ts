import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ProcessExit, SandboxProcess } from '../engine.ts';
import { FrameSplitter } from './frames.ts';
import { MessageFilter } from './messages.ts';
import { OutputStream } from './output-stream.ts';

/** End of a terminal's input, as a keyboard sends it. */
const END_OF_INPUT = '\x04';
/** Docker closes the outputs two seconds after the end of a program, if a process that we may not see holds them. */
const CLOSING_LIMIT_MS = 3_000;
/** Bytes of the engine's own words, which come in place of a program. */
const MAX_WORDS = 4_096;

export interface ProcessCalls {
  /** Exit code of the ended wrapper. @throws EngineError if it runs on, or the sandbox is lost. */
  exitCode(): Promise<number>;
  kill(signal: NodeJS.Signals, group: number): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
  /** The connection is closed. */
  onClosed(): void;
}

/** How the program began: it runs, its folder cannot be entered, or the engine gave up, with its words. */
export type Beginning = 'started' | 'folder' | { readonly words: string };

/** A program behind the stream of an exec. */
export class DockerProcess implements SandboxProcess {
  readonly stdin: Writable;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly exited: Promise<ProcessExit>;
  readonly began: Promise<Beginning>;
  readonly #socket: Socket;
  readonly #calls: ProcessCalls;
  readonly #isTerminal: boolean;
  readonly #filters: { readonly stdout: MessageFilter; readonly stderr: MessageFilter };
  #group = 0;
  #words = '';
  #held: number | undefined;
  #toldEnds = 0;
  #isOver = false;
  #isEnded = false;
  #onBegun: (beginning: Beginning) => void = () => {};
  #onOutputsOver: () => void = () => {};

  constructor(socket: Socket, secret: string, isTerminal: boolean, calls: ProcessCalls) {
    this.#socket = socket;
    this.#calls = calls;
    this.#isTerminal = isTerminal;
    this.stdin = toInput(socket, isTerminal);
    this.stdout = new OutputStream(() => this.#flow());
    this.stderr = new OutputStream(() => this.#flow());
    this.began = new Promise((resolve) => {
      this.#onBegun = resolve;
    });
    const outputsOver = new Promise<void>((resolve) => {
      this.#onOutputsOver = resolve;
    });
    this.#filters = {
      stdout: new MessageFilter(
        secret,
        (words) => this.#take(words),
        (bytes) => this.#add(this.stdout, bytes),
      ),
      stderr: new MessageFilter(
        secret,
        (words) => this.#take(words),
        (bytes) => this.#add(this.stderr, bytes),
      ),
    };
    const splitter = new FrameSplitter((stream, bytes) => this.#filters[stream].push(bytes));
    socket.on('data', (chunk: Buffer) => {
      if (isTerminal) this.#filters.stdout.push(chunk);
      else splitOrClose(splitter, chunk, socket);
      if (this.stdout.isFull || this.stderr.isFull) socket.pause();
    });
    socket.on('end', () => this.#close());
    socket.on('close', () => this.#close());
    this.exited = this.#untilExited(outputsOver);
    this.exited.catch(() => {});
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    // The group of an ended wrapper may be the number of another one by now.
    await this.#calls.kill(signal, this.#isOver ? 0 : this.#group);
  }

  async resize(columns: number, rows: number): Promise<void> {
    if (this.#isTerminal && !this.#isOver) await this.#calls.resize(columns, rows);
  }

  /** Ends the connection; the program goes on unless it has been ended. */
  disconnect(): void {
    this.#socket.destroy();
  }

  async #untilExited(outputsOver: Promise<void>): Promise<ProcessExit> {
    await outputsOver;
    try {
      const exitCode = this.#held ?? (await this.#calls.exitCode());
      if (this.#held === undefined) this.#endOutputs();
      await Promise.all([this.stdout.drained(), this.stderr.drained()]);
      return { exitCode, signal: null };
    } finally {
      this.#isEnded = true;
      this.#flow();
    }
  }

  #take(words: string): void {
    const [word, value] = words.split(' ');
    if (word === 'started') {
      this.#group = Number(value);
      this.#onBegun('started');
    } else if (word === 'folder') {
      this.#onBegun('folder');
    } else if (word === 'held' || word === 'ended') {
      if (word === 'held') this.#held = Number(value);
      this.#toldEnds += 1;
      if (this.#toldEnds === (this.#isTerminal ? 1 : 2)) this.#programEnded();
    }
  }

  #programEnded(): void {
    if (this.#held !== undefined) {
      this.#onOutputsOver();
      return;
    }
    const timer = setTimeout(this.#onOutputsOver, CLOSING_LIMIT_MS);
    this.#socket.once('close', () => clearTimeout(timer));
  }

  #add(stream: OutputStream, bytes: Buffer): void {
    if (this.#group > 0) stream.add(bytes);
    else if (this.#words.length < MAX_WORDS) this.#words += bytes.toString('utf8');
  }

  #close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#filters.stdout.end();
    this.#filters.stderr.end();
    this.#onBegun({ words: this.#words.trim() });
    this.#onOutputsOver();
    if (this.#held !== undefined) this.#endOutputs();
    this.#calls.onClosed();
    this.#socket.destroy();
  }

  #endOutputs(): void {
    this.stdout.end();
    this.stderr.end();
  }

  #flow(): void {
    if (this.#isEnded && this.stdout.destroyed && this.stderr.destroyed) this.#socket.destroy();
    else if (!this.stdout.isFull && !this.stderr.isFull) this.#socket.resume();
  }
}

/** A program that could not be started for a reason of the sandbox, as a shell tells it. */
export function notStarted(exitCode: number, words: string): SandboxProcess {
  const stdout = new OutputStream(() => {});
  const stderr = new OutputStream(() => {});
  stderr.add(Buffer.from(`sh: ${words}\n`));
  stdout.end();
  stderr.end();
  const untilRead = async () => {
    await nextTurn(); // The caller begins to read first.
    await stderr.drained();
    return { exitCode, signal: null };
  };
  const stdin = new Writable({ write: (_chunk, _encoding, done) => done() });
  return { stdin, stdout, stderr, exited: untilRead(), kill: async () => {}, resize: async () => {} };
}

function toInput(socket: Socket, isTerminal: boolean): Writable {
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      // A program that has ended reads nothing more, which is no failure.
      if (socket.writable) socket.write(chunk, () => done());
      else done();
    },
    final: (done) => {
      if (!socket.writable) done();
      else if (isTerminal) socket.write(END_OF_INPUT, () => done());
      else socket.end(() => done());
    },
  });
}

function splitOrClose(splitter: FrameSplitter, chunk: Buffer, socket: Socket): void {
  try {
    splitter.push(chunk);
  } catch {
    socket.destroy(); // Bytes that are no frames: the exit code, asked for next, tells whether the program runs.
  }
}
