import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sleep } from '../../../support/runtime/backoff.ts';
import { preloading } from '../player/shifted-clock.ts';
import type { VariableDigests } from '../player/variable-digests.ts';

/** The report that `preload-probe` writes. */
export interface ProbeReport {
  /** Number of open resources that keep the process running, by kind. */
  readonly counts: Readonly<Record<string, number>>;
  readonly variables: VariableDigests;
}

/** Milliseconds for a busy process to answer. */
const ANSWER_MS = 3_000;
const LOOK_EVERY_MS = 10;

/** Gets reports from a module's process, which loads a file of this package before its own code. */
export class Probe {
  /** Variables with which the process must be started. */
  readonly variables: Readonly<Record<string, string>>;
  readonly #folder: string;
  #asked = 0;

  /** @param folder for reports, empty and for one process only. @param own variables that the process has anyway. */
  constructor(folder: string, own: Readonly<Record<string, string>> | undefined) {
    this.#folder = folder;
    this.variables = preloading(
      'evaluation/checks/tries/preload-probe.js',
      { CHECK_PROBE_FOLDER: folder },
      own?.NODE_OPTIONS,
    );
  }

  /** Id of the process that answers; undefined until it has loaded the file. */
  get pid(): number | undefined {
    const text = this.#read('pid');
    return text === undefined ? undefined : Number(text);
  }

  /** @returns undefined if it does not answer in time or has ended. @throws the signal's reason. */
  async ask(pid: number, signal: AbortSignal | undefined): Promise<ProbeReport | undefined> {
    this.#asked += 1;
    try {
      process.kill(pid, 'SIGUSR2');
    } catch {
      return undefined; // The process has ended.
    }
    const limit = Date.now() + ANSWER_MS;
    while (Date.now() < limit) {
      const text = this.#read(`report-${this.#asked}.json`);
      if (text !== undefined) return JSON.parse(text) as ProbeReport;
      await sleep(LOOK_EVERY_MS, signal);
    }
    return undefined;
  }

  #read(name: string): string | undefined {
    try {
      return readFileSync(join(this.#folder, name), 'utf8');
    } catch {
      return undefined; // The report is not written yet.
    }
  }
}
