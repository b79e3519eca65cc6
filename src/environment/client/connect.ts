import { BoundaryError } from '../../contract/errors.ts';
import { DeadlineError } from '../../support/runtime/deadline.ts';
import { PROCTOR_VERSION } from '../../support/runtime/version.ts';
import { connectMcp, LOG_LEVELS } from '../mcp-client/connection.ts';
import { toBoundaryError } from './client-failure.ts';
import type { ConnectOptions, EnvironmentTarget } from './environment-client.ts';
import { type EnvironmentLink, harnessMeta, openCommand, openMemory, openModule, openUrl } from './environment-link.ts';
import { McpEnvironmentClient } from './mcp-environment-client.ts';
import { SampleAnswers } from './sample-answers.ts';

const DEFAULT_CONNECT_TIMEOUT_MS = 60_000;

/**
 * Connects to an environment as a harness, in a new session. It starts a process if the target is a program or a
 * module, and does the handshake, which runs the initialize hook. The caller has to close the client. If this rejects,
 * everything it started is ended.
 *
 * A process gets the variables of this process except the secrets (see `toChildVariables`), and the variables of the
 * target.
 *
 * @throws BoundaryError boundary `environment`, which says what could not be started or reached, how it ended, and its
 *   last output.
 * @throws the reason of the signal if it is aborted.
 */
export async function connectEnvironment(
  target: EnvironmentTarget,
  options: ConnectOptions = {},
): Promise<McpEnvironmentClient> {
  options.signal?.throwIfAborted();
  return await connectOver(openLink(target, options), options);
}

/** Connects like `connectEnvironment`, over an open link. The link is closed with the client, and if this rejects. */
export async function connectOver(link: EnvironmentLink, options: ConnectOptions): Promise<McpEnvironmentClient> {
  const { signal, timeoutMs = DEFAULT_CONNECT_TIMEOUT_MS, onLog, isForReading = false } = options;
  const samples = new SampleAnswers();
  try {
    const connection = await connectMcp(link, {
      clientInfo: { name: 'proctor', version: PROCTOR_VERSION },
      skipsHandshake: isForReading,
      handshakeMeta: { ...options.meta, ...harnessMeta(link) },
      onNotification: {
        log: (level, message) => onLog?.({ level: LOG_LEVELS[level], logger: 'environment', message }),
      },
      answers: { sample: (params, signal) => samples.sample(params, signal) },
      signal,
      timeoutMs: timeoutMs > 0 ? timeoutMs : undefined,
    });
    return new McpEnvironmentClient(connection, link, { onLog, samples });
  } catch (error) {
    // Described before the link is closed, because closing would change how the environment seems to have ended.
    const failure =
      error instanceof DeadlineError
        ? new BoundaryError('environment', 'environment_failed', describeLimit(link, timeoutMs))
        : await toBoundaryError(error, { boundary: 'environment', doing: 'connecting', timeoutMs }, link.label, link);
    await link.close();
    throw signal?.aborted ? signal.reason : failure;
  }
}

function openLink(target: EnvironmentTarget, options: ConnectOptions): EnvironmentLink {
  switch (target.kind) {
    case 'module':
      return openModule(target, options);
    case 'command':
      return openCommand(target, options);
    case 'url':
      return openUrl(target);
    case 'memory':
      return openMemory(target, options);
  }
}

function describeLimit({ label, kind, isShared }: EnvironmentLink, timeoutMs: number): string {
  const remote = kind === 'url' ? 'Its initialize hook or the network' : 'Its initialize hook, or loading its code,';
  // A host loaded the code long before this session.
  const suspects = isShared ? 'Its initialize hook' : remote;
  return `The environment ${label} did not finish connecting within ${timeoutMs} ms. ${suspects} takes too long`;
}
