import type { Command } from 'commander';
import { parseServiceUrl } from '../../base/options.ts';

/** Options that say where the traces are. */
export interface TracesPlaceOptions {
  readonly account?: string;
  readonly service?: string;
}

export function addPlaceOptions(command: Command): Command {
  return command
    .option('--account <account>', 'of this account (default: local; at a service that of the key)')
    .option('--service <url>', 'of this run service, with the key of PROCTOR_API_KEY', parseServiceUrl);
}
