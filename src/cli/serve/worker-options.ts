import { type Command, InvalidArgumentError } from 'commander';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import type { WorkerSettings } from '../../service/runs/worker/worker.ts';
import { UsageError } from '../base/failure.ts';
import { wholeNumber } from '../base/options.ts';
import { addPoolOptions, type PoolCommandOptions } from '../base/pool-options.ts';

const MAX_CONCURRENCY = 1_000;
const MAX_SPARES = 100;

/** Options of the commands that execute runs. */
export interface WorkerCommandOptions extends PoolCommandOptions {
  readonly concurrency?: number;
  readonly envConcurrency?: ReadonlyMap<string, number>;
  readonly spares?: number;
}

export function addWorkerOptions(command: Command): Command {
  const withWorker = command
    .option(
      '--concurrency <count>',
      'runs at once (default: as many as the environments hold, at most 512)',
      wholeNumber(1, MAX_CONCURRENCY),
    )
    .option('--env-concurrency <name=count>', 'runs of an environment at once; may be repeated', collectCount)
    .option(
      '--spares <count>',
      'processes that wait for the next run, of each environment that is in use (default 1)',
      wholeNumber(0, MAX_SPARES),
    );
  return addPoolOptions(withWorker);
}

/** @throws UsageError for an unknown environment. */
export function toWorkerSettings(
  { concurrency, envConcurrency, spares, hosts, startTimeoutMs }: WorkerCommandOptions,
  environments: ReadonlyMap<string, EnvironmentTarget>,
): WorkerSettings {
  for (const name of envConcurrency?.keys() ?? []) checkKnown('--env-concurrency', name, environments);
  return { concurrency, environmentConcurrency: envConcurrency, spares, hosts, startTimeoutMs };
}

/** @throws UsageError with the option and the known environments. */
export function checkKnown(option: string, name: string, environments: ReadonlyMap<string, EnvironmentTarget>): void {
  if (environments.has(name)) return;
  const known = [...environments.keys()].join(', ') || 'there is none';
  throw new UsageError(`${option} names the environment "${name}", which is not a known one (${known}).`);
}

function collectCount(text: string, earlier: ReadonlyMap<string, number> = new Map()): ReadonlyMap<string, number> {
  const at = text.lastIndexOf('=');
  if (at < 1) throw new InvalidArgumentError('It has to be <environment>=<count>.');
  return new Map([...earlier, [text.slice(0, at), wholeNumber(1, MAX_CONCURRENCY)(text.slice(at + 1))]]);
}
