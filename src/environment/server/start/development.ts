import { Socket } from 'node:net';
import { preloadSchemas } from '@modelcontextprotocol/server';
import { messageOf } from '../../../contract/errors.ts';
import { PROCESS_VARIABLES } from '../../../contract/names.ts';
import { parseDescriptor } from '../harness-key.ts';
import { loadEnvironmentModule, prepareLoader } from '../load-module.ts';
import { LoadedFiles } from '../loaded-files.ts';
import { RelatedTransport } from '../related-transport.ts';
import { serveOverStdio, takeStdio } from '../stdio/serve-over-stdio.ts';
import type { ChildReport } from './development-reports.ts';

/**
 * Runs an environment's process under `proctor dev`. It first loads everything except the environment, and the
 * environment when the parent says so. A change of its files then needs no new start of Node.js.
 *
 * @throws Error for a bad descriptor or key.
 */
export async function serveForDevelopment(path: string, variables: NodeJS.ProcessEnv = process.env): Promise<void> {
  const channel = takeChannel(variables);
  const taken = takeStdio();
  const loaded = new LoadedFiles();
  await prepareLoader(path);
  preloadSchemas();
  await import('../../authoring/environment-server.ts');
  loaded.take();
  await channel.told();
  try {
    const environment = await loadEnvironmentModule(path);
    channel.report({ kind: 'files', files: loaded.take() });
    const { name, version } = serveOverStdio(environment, {
      taken,
      createTransport: (input, output) => new RelatedTransport(input, output),
      onChange: (change) => channel.report({ kind: 'changed', change }),
    });
    channel.report({ kind: 'ready', name, version });
    channel.detach();
    loaded.follow((files) => channel.report({ kind: 'files', files }));
  } catch (error) {
    channel.report({ kind: 'files', files: loaded.take() });
    const message = messageOf(error).split('\n')[0] ?? '';
    await channel.end({ kind: 'failed', message: message.startsWith(path) ? message : `${path}: ${message}` });
    process.exit(1);
  }
}

interface Channel {
  /** Resolves when the parent tells it to load the environment. */
  told(): Promise<void>;
  report(report: ChildReport): void;
  /** Sends a last report. Resolves when it is written. */
  end(report: ChildReport): Promise<void>;
  /** From now on the end of standard input ends the process, instead of the end of the channel. */
  detach(): void;
}

function takeChannel(variables: NodeJS.ProcessEnv): Channel {
  const named = variables[PROCESS_VARIABLES.developmentFd] ?? '';
  delete variables[PROCESS_VARIABLES.developmentFd];
  const { fd } = parseDescriptor(PROCESS_VARIABLES.developmentFd, named);
  const socket = new Socket({ fd, readable: true, writable: true });
  socket.on('error', () => {});
  const exit = () => process.exit(0);
  // The parent has ended before there was anything to clean up.
  socket.once('close', exit);
  const told = new Promise<void>((resolve) => {
    socket.once('data', () => resolve());
  });
  const write = (report: ChildReport, onSent?: () => void) => socket.write(`${JSON.stringify(report)}\n`, onSent);
  return {
    told: () => told,
    report: (report) => void write(report),
    end: (report) =>
      new Promise((resolve) => {
        write(report, resolve);
      }),
    detach() {
      socket.off('close', exit);
      socket.unref();
    },
  };
}
