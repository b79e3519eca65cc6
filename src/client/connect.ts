import { Client, isInitializeRequest, type JSONRPCMessage, type LoggingLevel } from '@modelcontextprotocol/client';
import { BoundaryError } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import { META } from '../contract/names.ts';
import type { LogRecord } from '../contract/trace.ts';
import { DeadlineError, withDeadline } from '../runtime/deadline.ts';
import { LONGEST_TIMER_MS } from '../runtime/longest-timer.ts';
import { PROCTOR_VERSION } from '../runtime/version.ts';
import { toBoundaryError } from './client-failure.ts';
import type { ConnectOptions, EnvironmentTarget } from './environment-client.ts';
import { type EnvironmentLink, openCommand, openMemory, openModule, openUrl } from './environment-link.ts';
import { McpEnvironmentClient } from './mcp-environment-client.ts';
import { ProgressListeners } from './progress-listeners.ts';

const DEFAULT_CONNECT_TIMEOUT_MS = 60_000;
const REVISION_WITHOUT_HANDSHAKE = '2026-07-28';

const LOG_LEVELS: Readonly<Record<LoggingLevel, LogRecord['level']>> = {
  debug: 'debug',
  info: 'info',
  notice: 'info',
  warning: 'warning',
  error: 'error',
  critical: 'error',
  alert: 'error',
  emergency: 'error',
};

/**
 * Connects to an environment as a harness, in a session of its own: starts its process where the target is one, and
 * does the handshake, the initialize hook included. The caller closes the client; when it rejects, nothing is left.
 *
 * A process gets the variables of this one except its secrets (see `toChildVariables`), and those of the target.
 *
 * @throws BoundaryError boundary `environment`: what could not be started or reached, how it ended, its last words.
 * @throws the reason of the signal, when it is aborted.
 */
export async function connectEnvironment(
  target: EnvironmentTarget,
  options: ConnectOptions = {},
): Promise<McpEnvironmentClient> {
  const { signal, timeoutMs = DEFAULT_CONNECT_TIMEOUT_MS, onLog, isForReading = false } = options;
  signal?.throwIfAborted();
  const link = openLink(target, options);
  try {
    const mode = isForReading ? { pin: REVISION_WITHOUT_HANDSHAKE } : 'legacy';
    const client = new Client({ name: 'proctor', version: PROCTOR_VERSION }, { versionNegotiation: { mode } });
    forwardLogs(client, onLog);
    declareHarness(link, options.meta ?? {});
    const progress = new ProgressListeners(link.transport);
    const connecting = (own: AbortSignal) => client.connect(link.transport, { signal: own, timeout: LONGEST_TIMER_MS });
    await withDeadline(connecting, { signal, ms: timeoutMs > 0 ? timeoutMs : undefined });
    return new McpEnvironmentClient(client, link, progress, onLog);
  } catch (error) {
    // Worded first: once it is closed, how it ended is our own doing.
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

/** Says in `initialize` that this connection is a harness, and shows the key; the SDK offers no place for `_meta`. */
function declareHarness({ transport, harnessKey }: EnvironmentLink, meta: JsonObject): void {
  const key = harnessKey === undefined ? {} : { [META.harnessKey]: harnessKey };
  const send = transport.send.bind(transport);
  const withMeta = (message: JSONRPCMessage): JSONRPCMessage => {
    if (!isInitializeRequest(message)) return message;
    const _meta = { ...message.params._meta, ...meta, [META.audience]: 'harness', ...key };
    return { ...message, params: { ...message.params, _meta } };
  };
  transport.send = (message, options) => send(withMeta(message), options);
}

function forwardLogs(client: Client, onLog: ConnectOptions['onLog']): void {
  client.setNotificationHandler('notifications/message', ({ params }) => {
    const message = typeof params.data === 'string' ? params.data : JSON.stringify(params.data);
    onLog?.({ level: LOG_LEVELS[params.level], logger: 'environment', message });
  });
}

function describeLimit({ label, kind }: EnvironmentLink, timeoutMs: number): string {
  const suspects = kind === 'url' ? 'Its initialize hook or the network' : 'Its initialize hook, or loading its code,';
  return `The environment ${label} did not finish connecting within ${timeoutMs} ms. ${suspects} takes too long`;
}
