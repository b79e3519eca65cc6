import type { ConnectOptions, EnvironmentClient, EnvironmentTarget } from './environment-client.ts';

/**
 * Connects to an environment as a harness, in a new session. It starts a process if the target is a program or a
 * module, and does the handshake, which runs the initialize hook. The caller has to close the client. If this rejects,
 * everything it started is ended.
 *
 * A process gets the variables of this process except the secrets, and the variables of the target.
 *
 * @throws BoundaryError boundary `environment`, which says what could not be started or reached, how it ended, and its
 *   last output.
 * @throws the reason of the signal if it is aborted.
 * @example
 * ```ts
 * const client = await connectEnvironment({ kind: 'url', url, harnessKey });
 * try {
 *   const { prompt, tools } = await client.setup('solve', { page: 1 }); // asked as the harness
 *   const offered = await client.tools({ patterns: tools }); // listed as an agent: what a model may have
 *   console.log(prompt, offered);
 *   await client.call('book', { name: 'read', arguments: { page: 1 } }); // called as an agent
 *   const { reward } = await client.evaluate('solve', answer); // asked as the harness
 *   return reward;
 * } finally {
 *   await client.close();
 * }
 * ```
 */
export async function connectEnvironment(
  target: EnvironmentTarget,
  options: ConnectOptions = {},
): Promise<EnvironmentClient> {
  // Loaded here, so that programs that only talk to a service do not load it.
  const { connectEnvironment: connect } = await import('./connect.ts');
  return await connect(target, options);
}
