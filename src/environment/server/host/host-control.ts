import { Socket } from 'node:net';
import { type HostReport, type HostStart, hostDrainSchema, hostStartSchema } from '../../../contract/host.ts';
import { PROCESS_VARIABLES } from '../../../contract/names.ts';
import { LineSplitter } from '../../../support/runtime/line-splitter.ts';
import { parseDescriptor } from '../harness-key.ts';
import { writeReport } from './write-report.ts';

const MAX_LINE_LENGTH = 64 * 1024;
/** A host's end of the channel to the process that started it. Both sides send lines of JSON. */
export class HostControl {
  /** The file descriptor for reports. Another thread of this process may write to it too. */
  readonly fd: number;
  /** Called when the starter will open no more sessions. */
  ondrain: (() => void) | undefined;
  /** Called when the process that started this host has ended. */
  onend: (() => void) | undefined;
  readonly #started: Promise<HostStart>;

  /** @throws Error if the number is not that of an open pipe or socket. The variable is deleted from `variables`. */
  constructor(variables: Record<string, string | undefined> = process.env) {
    const named = variables[PROCESS_VARIABLES.hostFd] ?? '';
    delete variables[PROCESS_VARIABLES.hostFd];
    this.fd = parseDescriptor(PROCESS_VARIABLES.hostFd, named).fd;
    const socket = new Socket({ fd: this.fd, readable: true, writable: true });
    this.#started = new Promise((resolve, reject) => {
      const end = () => {
        reject(new Error('The process that started this host is gone'));
        this.onend?.();
      };
      let isStarted = false;
      const splitter = new LineSplitter(MAX_LINE_LENGTH, (line) => {
        if (isStarted) this.#obey(line);
        else {
          isStarted = true;
          // The error must not quote the line, because it may contain the secret.
          const start = hostStartSchema.safeParse(toJson(line));
          if (start.success) resolve(start.data);
          else reject(new Error(`${PROCESS_VARIABLES.hostFd}: the first line is not that of a start`));
        }
      });
      socket.setEncoding('utf8').on('data', (text: string) => splitter.push(text));
      socket.on('error', () => {});
      socket.once('close', end);
      socket.once('end', end);
    });
    // `onend` reports the failure too, so this rejection may stay unhandled.
    this.#started.catch(() => {});
  }

  /** @throws Error if the first line is invalid or missing. */
  started(): Promise<HostStart> {
    return this.#started;
  }

  /** Sends a report. It is written when this returns, because the process may be about to end. */
  tell(report: HostReport): void {
    writeReport(this.fd, report);
  }

  #obey(line: string): void {
    if (hostDrainSchema.safeParse(toJson(line)).success) this.ondrain?.();
  }
}

function toJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
