import { messageOf } from '../../../contract/errors.ts';
import type { EnvironmentTarget } from '../../../environment/client/environment-client.ts';
import type { Finding } from '../finding.ts';
import type { SharedPlace } from '../player/session-launchers.ts';
import type { SessionPlayer } from '../player/session-player.ts';
import { type Disturbed, interleave, type Pair, type PlayAgain } from './isolated.ts';
import { inSequence, oneSession } from './order.ts';

export interface Sharing {
  readonly found: readonly Finding[];
  /** True if sessions may share a process; null if that could not be tried. */
  readonly mayShare: boolean | null;
  /** False if sessions in two processes affect each other, so that they have to be played one after the other. */
  readonly mayRunTogether: boolean;
  /** True if one process can hold several sessions, even if they affect each other. */
  readonly canBeHosted: boolean;
}

/**
 * Finds out whether sessions affect each other: concurrently and in sequence, in one process and in two, and in one
 * session. Each cause is reported once, by the first finding that shows it.
 */
export async function trySharing(
  pairs: readonly Pair[],
  bench: SessionPlayer,
  again: PlayAgain,
  { target, sessionsPerProcess }: { readonly target: EnvironmentTarget; readonly sessionsPerProcess: number },
): Promise<Sharing> {
  const place = bench.places.shared();
  const level = sessionsPerProcess > 1 || target.kind === 'url' ? 'error' : 'note';
  try {
    const inOne = await inOneProcess(pairs, bench, again, { place, level });
    return await goBeyond(pairs, bench, again, { target, inOne, place });
  } finally {
    await place?.close();
  }
}

interface BeyondOne {
  readonly target: EnvironmentTarget;
  readonly inOne: InOne;
  readonly place: SharedPlace | undefined;
}

async function goBeyond(
  pairs: readonly Pair[],
  bench: SessionPlayer,
  again: PlayAgain,
  { target, inOne, place }: BeyondOne,
): Promise<Sharing> {
  const isApart = target.kind === 'module' || target.kind === 'command';
  // An effect across processes also appears within one, and is the greater fault.
  const beyond = isApart ? await beyondProcesses(pairs, bench, again) : undefined;
  if (beyond !== undefined) {
    const { finding, disturbed, where } = beyond;
    const found = toFound(disturbed, { finding, level: 'error', where, hint: 'Keep nothing outside of the session' });
    return { ...inOne, found: [found], mayShare: false, mayRunTogether: false };
  }
  // The same fault was reported already. A note concerns only sessions in separate processes; tasks of one session
  // share one.
  if (inOne.found.some(({ level }) => level === 'error')) return { ...inOne, mayRunTogether: true };
  const sequel = await first(bench, inOne.mayShare === false ? pairs.slice(0, 1) : pairs, async (pair) => {
    const session = oneSession(inOne.mayShare && place !== undefined ? place.open : bench.places.alone());
    return await inSequence(pair, again, { open: session.open, bench }).finally(() => session.close());
  });
  if (sequel === undefined) return { ...inOne, mayRunTogether: true };
  const where = 'after it in the same session';
  const found = toFound(sequel, { finding: 'order', level: 'error', where, hint: 'Start over in every setup' });
  return { ...inOne, found: [...inOne.found, found], mayRunTogether: true };
}

type InOne = Pick<Sharing, 'found' | 'mayShare' | 'canBeHosted'>;

async function inOneProcess(
  pairs: readonly Pair[],
  bench: SessionPlayer,
  again: PlayAgain,
  { place, level }: { readonly place: SharedPlace | undefined; readonly level: Finding['level'] },
): Promise<InOne> {
  if (place === undefined) return { found: [], mayShare: null, canBeHosted: false };
  const refused = await whyRefused(place, bench);
  if (refused !== undefined)
    return { found: [{ finding: 'isolated', level: 'note', message: refused }], mayShare: false, canBeHosted: false };
  const opens = [place.open, place.open] as const;
  const beside = await first(bench, pairs, (pair) => interleave(pair, bench, again, opens));
  const hint = 'Keep state in fields of the class, not in the module';
  if (beside !== undefined) {
    const found = await nameCause(beside, bench, again, { level, hint });
    return { found: [found], mayShare: false, canBeHosted: true };
  }
  const after = await first(bench, pairs, (pair) => inSequence(pair, again, { open: place.open, bench }));
  // Pairs that were left out for lack of time prove nothing.
  if (after === undefined && bench.budget.leftMs === 0) return { found: [], mayShare: null, canBeHosted: true };
  if (after === undefined) return { found: [], mayShare: true, canBeHosted: true };
  const where = 'after it in one process';
  return { found: [toFound(after, { finding: 'order', level, where, hint })], mayShare: false, canBeHosted: true };
}

/** Plays the pair in sequence in a fresh process. If they differ there too, the order is the cause. */
async function nameCause(
  beside: Disturbed,
  bench: SessionPlayer,
  again: PlayAgain,
  { level, hint }: Pick<Finding, 'level'> & { readonly hint: string },
): Promise<Finding> {
  const fresh = bench.places.shared();
  try {
    const after = fresh && (await inSequence([beside.beside, beside.subject], again, { open: fresh.open, bench }));
    if (after !== undefined) return toFound(after, { finding: 'order', level, where: 'after it in one process', hint });
    return toFound(beside, { finding: 'isolated', level, where: 'beside it in one process', hint });
  } finally {
    await fresh?.close();
  }
}

/** Reason why its sessions cannot share a process; undefined if they can. */
async function whyRefused(place: SharedPlace, bench: SessionPlayer): Promise<string | undefined> {
  try {
    const client = await place.open({ signal: bench.signal, timeoutMs: bench.limitMs });
    await client.close();
    return undefined;
  } catch (error) {
    bench.signal.throwIfAborted();
    return `Its sessions cannot share a process: ${messageOf(error)}`;
  }
}

interface Beyond {
  readonly finding: 'isolated' | 'order';
  readonly disturbed: Disturbed;
  readonly where: string;
}

/** Plays pairs in two processes that share only the machine, including the folder of temporary files. */
async function beyondProcesses(
  pairs: readonly Pair[],
  bench: SessionPlayer,
  again: PlayAgain,
): Promise<Beyond | undefined> {
  const [pair] = pairs;
  if (pair === undefined || bench.budget.isOver('isolated', pair[0].task)) return undefined;
  const visited = bench.places.newFolder();
  const sequel = await inSequence(pair, again, { open: bench.places.alone({ folder: visited }), bench });
  if (sequel !== undefined) return { finding: 'order', disturbed: sequel, where: 'after it in a process of its own' };
  const folder = bench.places.newFolder();
  const opens = [bench.places.alone({ folder }), bench.places.alone({ folder })] as const;
  const beside = await interleave(pair, bench, again, opens, [pair]);
  return beside === undefined
    ? undefined
    : { finding: 'isolated', disturbed: beside, where: 'beside it in another process' };
}

async function first(
  bench: SessionPlayer,
  pairs: readonly Pair[],
  look: (pair: Pair) => Promise<Disturbed | undefined>,
): Promise<Disturbed | undefined> {
  for (const pair of pairs) {
    if (bench.budget.isOver('order', pair[0].task)) return undefined;
    const disturbed = await look(pair);
    if (disturbed !== undefined) return disturbed;
  }
  return undefined;
}

function toFound(
  { subject, beside, played, difference }: Disturbed,
  {
    finding,
    level,
    where,
    hint,
  }: Pick<Finding, 'finding' | 'level'> & { readonly where: string; readonly hint: string },
): Finding {
  const other = `${beside.task.scenario.short_name}/${beside.task.id}`;
  const message = `Played ${where}, ${other} changes ${difference}. ${hint}.`;
  return { finding, level, task: subject.task, played, message };
}
