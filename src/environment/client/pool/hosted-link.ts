import { randomUUID } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { builtFile } from '../../../support/runtime/built-file.ts';
import { toChildVariables, withheldFromEnvironment } from '../../process/child-variables.ts';
import type { HostConnection, HostedSessionOptions } from '../../process/host-connection.ts';
import { HostProcess, type HostProcessOptions } from '../../process/host-process.ts';
import type { ConnectOptions } from '../environment-client.ts';
import {
  createHarnessKey,
  type EnvironmentLink,
  heapLimit,
  labelOf,
  memoryOf,
  type Target,
} from '../environment-link.ts';

/** Makes a process of the module that holds many sessions. It is not started yet. */
export function createHost(
  target: Target<'module'>,
  { onLog, onGauges }: Pick<HostProcessOptions, 'onLog' | 'onGauges'>,
): HostProcess {
  const path = resolve(target.path);
  return new HostProcess({
    command: process.execPath,
    args: [...heapLimit(target), builtFile('environment/server/start/environment-main.js'), path],
    variables: toChildVariables(process.env, target.env),
    withheld: withheldFromEnvironment(process.env),
    sessionsPerProcess: target.limits?.sessionsPerProcess,
    folders: [dirname(dirname(path))],
    memoryMiB: memoryOf(target),
    onLog,
    onGauges,
  });
}

type HostedLinkOptions = Pick<ConnectOptions, 'onLog'> & Pick<HostedSessionOptions, 'isShuttingDown'>;

/**
 * Opens a session in a process that also holds other sessions.
 *
 * @param connect opens the connection to the process. @param leave frees the place there.
 */
export function openHosted(
  target: Target<'module'>,
  connect: (options: HostedSessionOptions) => HostConnection,
  leave: () => void | Promise<void>,
  { onLog, isShuttingDown }: HostedLinkOptions,
): EnvironmentLink {
  const harnessKey = createHarnessKey();
  const transport = connect({ session: randomUUID(), harnessKey, onLog, isShuttingDown });
  return {
    kind: 'module',
    isShared: true,
    harnessKey,
    label: labelOf(target),
    transport,
    status: () => transport.ending,
    ending: () => transport.ending,
    isOverMemory: () => false,
    lastWords: () => transport.lastWords,
    close: () => transport.close().finally(leave),
  };
}
