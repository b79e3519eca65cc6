import type { Command } from 'commander';
import { openInstallation } from './installation.ts';
import { ensureLocalKey } from './local-key.ts';
import { createLogger } from './logger.ts';
import { parsePort, wholeNumber } from './options.ts';
import { startService } from './service.ts';
import { listenForStop, untilStopped } from './signals.ts';
import { signedInAddress } from './signed-in-address.ts';
import { colors, note, print, printJson } from './terminal.ts';

export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('Serve the run service and the trace pages, and execute runs.')
    .option('--host <host>', 'address to bind; beyond loopback only where there is a key of your own', '127.0.0.1')
    .option('--port <port>', 'port of the run service (default 8320)', parsePort)
    .option('--concurrency <count>', 'runs at once (default: the number of cores)', wholeNumber(1))
    .option('--json', 'print one JSON object once it listens')
    .addHelpText(
      'after',
      `
On a first start a key is made and kept in .proctor/key. The address of the pages signs a browser in, once.
SIGTERM and Ctrl-C stop it in order, exit code 0: runs that go on return to the queue, and the next start finishes them.

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
  using stop = listenForStop(() => note('Stopping. Once more ends it at once.'));
  await using installation = await openInstallation(port === undefined ? {} : { port });
  const { settings, environments } = installation;
  await ensureLocalKey(installation, host);
  const service = await startService(installation, {
    host,
    port: settings.ports.runService,
    logger: createLogger(process.stderr.isTTY ? 'warn' : 'info'),
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
    await untilStopped(stop.signal);
  } finally {
    await service.close();
  }
}
