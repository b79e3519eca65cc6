import type { LogRecord } from '../contract/trace.ts';

export interface ProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the child. */
  readonly variables: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  /**
   * True: the child answers on descriptor 3, reads its harness key from descriptor 4, and whatever it prints is a log
   * line. False: plain MCP over standard input and output.
   */
  readonly hasOwnDescriptors: boolean;
  readonly harnessKey: string | undefined;
  /** Folders that the paths of its last words are shown relative to. */
  readonly folders: readonly string[];
  readonly onLog: ((record: Omit<LogRecord, 'at'>) => void) | undefined;
  /** With descriptors of its own: takes the lines that the child writes to descriptor 5, which exists only where this is set. */
  readonly onChannelLine?: ((line: string) => void) | undefined;
  /** Called once: it has loaded its code, or sent its first message. */
  readonly onReady?: (() => void) | undefined;
  /** Has it start with a lower priority than this process. Default: with the same. */
  readonly startsLow?: 'session' | 'host' | undefined;
  /** Between SIGTERM and SIGKILL; that of an environment by default. */
  readonly graceMs?: number | undefined;
  /** MiB that it and all that it starts may hold together; beyond it they are killed. Default: no limit. */
  readonly memoryMiB?: number | undefined;
}
