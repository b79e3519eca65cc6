import type { Command } from 'commander';
import { openInstallation } from './installation.ts';
import { parseCount, parsePort } from './options.ts';
import { createLogger, ensureLocalKey, startService, untilSignal } from './service.ts';
import { signedInAddress } from './signed-in-address.ts';
import { colors, note, print, printJson } from './terminal.ts';

export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('Serve the run service and the trace pages, and execute runs.')
    .option('--host <host>', 'address to bind; beyond loopback only where there is a key of your own', '127.0.0.1')
    .option('--port <port>', 'port of the run service (default 8320)', parsePort)
    .option('--concurrency <count>', 'runs at once (default: the number of cores)', parseCount)
    .option('--json', 'print one JSON object once it listens')
    .addHelpText(
      'after',
      `
Stops in order on SIGTERM and Ctrl-C: running runs go back to the queue and are finished by the next start.

Examples:
  $ proctor serve
  $ proctor serve --port 9000 --concurrency 8
  $ PROCTOR_GATEWAY_URL=http://localhost:11434/v1 proctor serve`,
    )
    .action(serve);
}

interface ServeOptions {
  readonly host: string;
  readonly port?: number;
  readonly concurrency?: number;
  readonly json?: boolean;
}

async function serve({ host, port, concurrency, json }: ServeOptions): Promise<void> {
  await using installation = await openInstallation(port === undefined ? {} : { port });
  const { settings, environments } = installation;
  await ensureLocalKey(installation, host);
  const service = await startService(installation, {
    host,
    port: settings.ports.runService,
    logger: createLogger(),
    ...(concurrency === undefined ? {} : { concurrency }),
  });
  try {
    const address = await signedInAddress(installation);
    if (json) printJson({ url: service.url, address, environments: [...environments.keys()] });
    else {
      print(`${colors.bold('Run service')}   ${service.url}`);
      print(`${colors.bold('Pages')}         ${address}`);
      print(
        `${colors.bold('Environments')}  ${[...environments.keys()].join(', ') || 'none found under environments/'}`,
      );
    }
    await untilSignal();
    note('Stopping.');
  } finally {
    await service.close();
  }
}
