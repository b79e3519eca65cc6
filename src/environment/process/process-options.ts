import type { LogRecord } from '../../contract/service/trace.ts';
import type { WithheldVariables } from './child-variables.ts';

export interface ProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** All environment variables of the child. */
  readonly variables: Readonly<Record<string, string>>;
  /** The withheld variables. An error message explains those that the child's last output mentions. */
  readonly withheld?: WithheldVariables | undefined;
  readonly cwd?: string | undefined;
  /**
   * True: the child sends messages on file descriptor 3 and reads its harness key from descriptor 4, and its output is
   * a log. False: plain MCP over standard input and output.
   */
  readonly hasOwnDescriptors: boolean;
  readonly harnessKey: string | undefined;
  /** Folders that are removed from paths in the last output. */
  readonly folders: readonly string[];
  readonly onLog: ((record: Omit<LogRecord, 'at'>) => void) | undefined;
  /**
   * Receives the lines that the child writes to file descriptor 5. Without it, the child does not have this descriptor.
   * Only with `hasOwnDescriptors`.
   */
  readonly onChannelLine?: ((line: string) => void) | undefined;
  /** Called once when it has loaded its code or sent its first message. */
  readonly onReady?: (() => void) | undefined;
  /** Starts the process with a lower priority than this process. Default: with the same. */
  readonly startsLow?: 'session' | 'host' | undefined;
  /** Milliseconds between SIGTERM and SIGKILL. Default: the value for environments. */
  readonly graceMs?: number | undefined;
  /**
   * MiB that the process and its child processes may use together. Above the limit they are killed. Default: no limit.
   */
  readonly memoryMiB?: number | undefined;
}
