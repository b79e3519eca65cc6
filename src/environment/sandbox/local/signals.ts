import { constants } from 'node:os';

/** Name of a signal by its number. Undefined for 0 and unknown numbers. */
export function signalName(signal: number | undefined): NodeJS.Signals | undefined {
  const found = Object.entries(constants.signals).find(([, each]) => each === signal);
  return found?.[0] as NodeJS.Signals | undefined;
}

/** Signals a process. It does nothing if the process has ended. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended already.
  }
}
