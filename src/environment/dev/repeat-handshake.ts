import { messageOf } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import { withDeadline } from '../../support/runtime/deadline.ts';
import type { ChildConnection } from './child-connection.ts';
import { resultOf, withoutProgressToken } from './messages.ts';

/**
 * Sends the client's `initialize` to a new child, so that its hooks run with the same `_meta`.
 *
 * @param handshake is undefined before the client's first message, and on MCP 2026-07-28.
 * @param limitMs limits the time of the hooks in milliseconds.
 * @returns the reason why the child cannot serve the session, or undefined if it can. Never rejects.
 */
export async function repeatHandshake(
  connection: ChildConnection,
  handshake: JsonObject | undefined,
  limitMs: number,
): Promise<string | undefined> {
  if (handshake === undefined) return undefined;
  const _meta = withoutProgressToken({ params: handshake });
  const answered = new Promise<string | undefined>((resolve, reject) => {
    connection.onEnd = () => resolve(`its process ${connection.child.process.status ?? 'was ended'}`);
    const ask = connection.ask('initialize', { ...handshake, _meta });
    ask.then((reply) => resolve(resultOf(reply) === undefined ? 'its initialize hook failed' : undefined), reject);
  });
  const toError = (limit: string) => new Error(`its initialize hook took more than ${limit}`);
  try {
    return await withDeadline(() => answered, { ms: limitMs, toError });
  } catch (error) {
    return messageOf(error);
  } finally {
    connection.onEnd = undefined;
  }
}
