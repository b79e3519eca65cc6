import type { JsonObject } from '../contract/json.ts';
import type { Line } from './line.ts';
import { resultOf, withoutProgressToken } from './messages.ts';

/**
 * Says to a new child what the client has said in `initialize`, so that its hooks run with the same `_meta`.
 *
 * @param handshake undefined where the client has said nothing yet, or speaks 2026-07-28.
 * @param limitMs milliseconds that the hooks are given.
 * @returns why the child cannot serve the session; undefined where it can. Never rejects.
 */
export async function repeatHandshake(
  line: Line,
  handshake: JsonObject | undefined,
  limitMs: number,
): Promise<string | undefined> {
  if (handshake === undefined) return undefined;
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`its initialize hook took more than ${limitMs / 1_000} s`), limitMs);
  });
  const ended = new Promise<string>((resolve) => {
    line.onEnd = () => resolve(`its process ${line.child.process.status ?? 'was ended'}`);
  });
  const _meta = withoutProgressToken({ params: handshake });
  const answered = line.ask('initialize', { ...handshake, _meta }).then((reply) => {
    return resultOf(reply) === undefined ? 'its initialize hook failed' : undefined;
  });
  try {
    return await Promise.race([answered, limit, ended]);
  } finally {
    clearTimeout(timer);
    line.onEnd = undefined;
  }
}
