import { useEffect } from 'preact/hooks';
import { type Resource, useResource } from '../use-resource.ts';
import { McpSession } from './mcp-session.ts';

/** The agent's session of the page, which ends when another is started. */
export function useSession(endpoint: URL): {
  readonly resource: Resource<McpSession>;
  readonly session: McpSession | undefined;
  /** Starts another. */
  reload(): void;
} {
  const { resource, reload } = useResource((signal) => McpSession.open(endpoint, { signal }), [endpoint.href]);
  const session = resource.state === 'ready' ? resource.value : undefined;
  useEffect(() => () => session?.close(), [session]);
  return { resource, session, reload };
}
