import type { Finding, Subject } from '../finding.ts';
import { isPassed, toFindings } from '../player/passes.ts';
import type { PlayedSession } from '../player/play.ts';
import type { SessionPlayer } from '../player/session-player.ts';

/** Share of rewarded sessions from which a task rewards any attempt. Below it, the reward is luck. */
const TOO_OFTEN = 0.2;

/**
 * Tries agents that make random calls, usually three. If one gets a reward, more sessions measure how likely that is,
 * with the same seeds for each task. The first sessions are kept for other findings.
 */
export async function random(
  { task }: Subject,
  bench: SessionPlayer,
  isFirst: boolean,
): Promise<{ readonly found: readonly Finding[]; readonly plays: readonly PlayedSession[] }> {
  const isOver = () => bench.budget.isOver('random', task);
  const tryOne = async (seed: number) => await bench.play(task, { finding: 'random', model: 'proctor/random', seed });
  const plays = await bench.each(seeds(1, bench.tries(isFirst).random), { isOver }, tryOne);
  const found = plays.flatMap((played) => {
    const { seed } = played.trace;
    const reproduce = bench.runCommand(task, 'proctor/random', seed ?? 0);
    const who = `An agent that calls tools by chance (seed ${seed})`;
    return toFindings({ finding: 'random', task, played, who, reproduce }, bench, false);
  });
  const isPaid = ({ trace }: PlayedSession) => isPassed(trace, bench.threshold);
  const paid = found.find(({ played }) => played !== undefined && isPaid(played));
  if (paid === undefined) return { found, plays };
  const { chances } = bench.effort;
  const most = Math.ceil(chances * TOO_OFTEN);
  let passed = plays.filter(isPaid).length;
  const isDone = () => passed >= most || isOver();
  const more = await bench.each(seeds(plays.length + 1, chances), { isOver: isDone }, async (seed) => {
    const played = await tryOne(seed);
    if (isPaid(played)) passed += 1;
    return played;
  });
  const { sessions, times } = count([...plays, ...more].map(isPaid), most);
  const isTooOften = times >= most;
  const message = `An agent that calls tools by chance passes in ${times} of ${sessions} sessions, as with the seed ${paid.played?.trace.seed}.${isTooOften ? '' : ' That is luck.'}`;
  const others = found.filter(({ played }) => played === undefined || !isPaid(played));
  return { found: [...others, { ...paid, level: isTooOften ? 'error' : 'warning', message }], plays };
}

function seeds(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
}

/** Counts up to the session that decides. How many later ones had started by then varies. */
function count(paid: readonly boolean[], most: number): { readonly sessions: number; readonly times: number } {
  let times = 0;
  for (const [index, isPaid] of paid.entries()) {
    if (isPaid) times += 1;
    if (times >= most) return { sessions: index + 1, times };
  }
  return { sessions: paid.length, times };
}
