import type { Command } from 'commander';
import { LONGEST_TIMER_MS } from '../../support/runtime/deadline.ts';
import { wholeNumber } from './options.ts';

const MAX_HOSTS = 1_000;

/** Options of the commands that start environments. */
export interface PoolCommandOptions {
  readonly hosts?: number;
  readonly startTimeoutMs?: number;
}

export function addPoolOptions(command: Command): Command {
  return command
    .option(
      '--hosts <count>',
      'processes of an environment whose sessions share them (default: the number of cores)',
      wholeNumber(1, MAX_HOSTS),
    )
    .option(
      '--start-timeout-ms <count>',
      'milliseconds that a chat session may wait for a process (default 60000)',
      wholeNumber(1, LONGEST_TIMER_MS),
    );
}
