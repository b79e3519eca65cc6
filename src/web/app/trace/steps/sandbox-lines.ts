import type { EventOf } from '../../../../contract/service/event.ts';
import type { LogRecord } from '../../../../contract/service/trace.ts';

type Line = Pick<LogRecord, 'level' | 'message'>;

/** Paths that a line names. */
const NAMED_PATHS = 10;

/** The log line of a sandbox that has started. */
export function toSandboxStart(event: EventOf<'sandbox.started'>): Line {
  const { name, engine, engine_version, image, digest, network, not_enforced, warnings } = event;
  const from = image === null ? 'the programs of its machine' : `${image}${digest === null ? '' : ` (${digest})`}`;
  const waited = event.queued_ms === 0 ? '' : ` It waited for ${event.queued_ms} ms.`;
  const time = `up in ${event.start_ms} ms, image in ${event.image_ms} ms.${waited}`;
  const missing = Object.entries(not_enforced).map(
    ([limit, reason]) => `The limit ${limit} is not enforced: ${reason}.`,
  );
  const message = [
    `${name}: ${engine} ${engine_version} with ${from}, network ${network}, ${time}`,
    ...missing,
    ...warnings,
  ];
  return { level: missing.length + warnings.length > 0 ? 'warning' : 'info', message: message.join(' ') };
}

/** The log line about the end of the agent in a sandbox. */
export function toSandboxEnd({ name, changes, omitted, memory_kills, problem }: EventOf<'sandbox.ended'>): Line {
  const kills = memory_kills === 0 ? '' : ` Processes ended because memory was used up: ${memory_kills}.`;
  if (changes === null) return { level: 'warning', message: `${name}: its changes are unknown: ${problem}.${kills}` };
  const parts = (['added', 'changed', 'removed'] as const).flatMap((kind) => {
    const paths = changes[kind];
    if (paths.length === 0) return [];
    const more = paths.length > NAMED_PATHS ? ` and ${paths.length - NAMED_PATHS} more` : '';
    return [`${kind} ${paths.slice(0, NAMED_PATHS).join(', ')}${more}`];
  });
  const rest = omitted === 0 ? '' : ` ${omitted} more paths are not listed.`;
  const message = `${name}: ${parts.join('; ') || 'no file was changed'}.${rest}${kills}`;
  return { level: memory_kills > 0 ? 'warning' : 'info', message };
}
