import type { ConnectOptions, EnvironmentTarget } from '../../client/environment-client.ts';
import { openCommand, openModule, openUrl } from '../../client/environment-link.ts';
import { connectMcp, type McpConnection } from '../../mcp-client/connection.ts';

export interface AgentConnectOptions extends Pick<ConnectOptions, 'signal' | 'timeoutMs'> {
  /** Speaks the revision without a handshake. Default false. */
  readonly skipsHandshake?: boolean;
}

/**
 * A connection as an agent has one that was given the environment's address or its program: it declares nothing, and has
 * no key. The caller closes it. Undefined for an environment in this process, where whoever asks is trusted.
 *
 * @throws what keeps it from connecting.
 */
export async function connectAsAgent(
  target: EnvironmentTarget,
  { skipsHandshake = false, signal, timeoutMs }: AgentConnectOptions,
): Promise<McpConnection | undefined> {
  if (target.kind === 'memory') return undefined;
  const link =
    target.kind === 'module'
      ? openModule(target, {})
      : target.kind === 'command'
        ? openCommand(target, {})
        : openUrl(target);
  const clientInfo = { name: 'agent', version: '1' };
  try {
    return await connectMcp(link, { clientInfo, skipsHandshake, signal, timeoutMs });
  } catch (error) {
    await link.close();
    throw error;
  }
}
