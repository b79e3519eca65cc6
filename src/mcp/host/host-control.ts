import { Socket } from 'node:net';
import { type HostReport, type HostStart, hostDrainSchema, hostStartSchema } from '../../contract/host.ts';
import { PROCESS_VARIABLES } from '../../contract/names.ts';
import { LineSplitter } from '../../runtime/line-splitter.ts';
import { parseDescriptor } from '../harness-key.ts';
import { writeReport } from './write-report.ts';

const MAX_LINE_LENGTH = 64 * 1024;
/** The end of a host at the descriptor that its starter holds the other end of. It carries lines of JSON, both ways. */
export class HostControl {
  /** Where reports go: a thread of this process may write there too. */
  readonly fd: number;
  /** Called when no further session will come. */
  ondrain: (() => void) | undefined;
  /** Called when the starter is gone. */
  onend: (() => void) | undefined;
  readonly #started: Promise<HostStart>;

  /** @throws Error for a number that is not that of an open pipe or socket. It is taken out of `variables`. */
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
          // The secret is in it: a line that is none must not be quoted.
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
    // A rejection that nobody waits for is told by `onend` too.
    this.#started.catch(() => {});
  }

  /** @throws Error for a first line that is none, and where there is none. */
  started(): Promise<HostStart> {
    return this.#started;
  }

  /** Written when this returns: the process may be about to end. */
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
