import type { ConnectOptions, EnvironmentTarget } from '../../../environment/client/environment-client.ts';
import { openCommand, openModule, openUrl } from '../../../environment/client/environment-link.ts';
import { connectMcp, type McpConnection } from '../../../environment/mcp-client/connection.ts';

export interface AgentConnectOptions extends Pick<ConnectOptions, 'signal' | 'timeoutMs'> {
  /** True speaks the new protocol revision without a handshake. Default false. */
  readonly skipsHandshake?: boolean;
}

/**
 * Connects like an agent that knows only the environment's address or program: it declares nothing and has no key. The
 * caller must close the connection. Undefined for an environment in this process, which trusts its callers.
 *
 * @throws the error that prevents the connection.
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
