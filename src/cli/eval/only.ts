import { createHash } from 'node:crypto';
import { InvalidArgumentError } from 'commander';
import { didYouMean } from '../../text/did-you-mean.ts';
import { UsageError } from '../failure.ts';
import { printable } from '../terminal.ts';

/** Which attempts and tasks a command is about (contract section 7, `--only`). */
export interface Only {
  /** `failed`: tasks below the threshold, in a new evaluation; `errored`: attempts without a reward, once more. */
  readonly ends?: 'failed' | 'errored';
  readonly tags: readonly string[];
  /** As typed after `ids=`: one id, or several with commas between them. */
  readonly ids: readonly string[];
  readonly first?: number;
  readonly sample?: { readonly count: number; readonly seed: string };
  readonly shard?: { readonly index: number; readonly of: number };
}

const NOTHING: Only = { tags: [], ids: [] };

/** Reads one `--only` and adds it to the earlier ones. */
export function collectOnly(text: string, earlier: Only = NOTHING): Only {
  const word = text.trim();
  if (word === 'failed' || word === 'errored') {
    if (earlier.ends !== undefined && earlier.ends !== word) throw refusal('failed and errored are two commands');
    return { ...earlier, ends: word };
  }
  const at = word.indexOf('=');
  const kind = at === -1 ? word : word.slice(0, at);
  const value = at === -1 ? '' : word.slice(at + 1);
  switch (kind) {
    case 'tag':
    case 'tags':
      return { ...earlier, tags: [...earlier.tags, ...listOf(value, 'tag')] };
    case 'id':
    case 'ids':
      listOf(value, 'ids');
      return { ...earlier, ids: [...earlier.ids, value] };
    case 'first':
      return { ...once(earlier, 'first'), first: countOf(value, 'first=N') };
    case 'sample':
      return { ...once(earlier, 'sample'), sample: sampleOf(value) };
    case 'shard':
      return { ...once(earlier, 'shard'), shard: shardOf(value) };
    default:
      throw refusal(
        `there is no ${JSON.stringify(printable(kind, 40))}.${didYouMean(kind, KINDS)} There are failed, errored, ` +
          'tag=a,b, ids=a,b, first=N, sample=N:seed and shard=i/n',
      );
  }
}

const KINDS = ['failed', 'errored', 'tag', 'ids', 'first', 'sample', 'shard'];

/** A task as far as it is chosen by. */
interface Choosable {
  readonly id: string;
  readonly tags: readonly string[];
}

/**
 * The tasks that are left: tags and ids first, then the shard, the sample and the first ones. Several of one kind mean any
 * of them. Shard and sample depend on the ids alone, not on their order.
 *
 * @throws UsageError for ids and tags that there are not, and where no task is left.
 */
export function selectTasks<Task extends Choosable>(tasks: readonly Task[], only: Only): readonly Task[] {
  const ids = idsOf(only, tasks);
  checkTags(only.tags, tasks);
  const { shard, sample, first } = only;
  let left = tasks.filter(
    ({ id, tags }) =>
      (ids === undefined || ids.has(id)) && (only.tags.length === 0 || only.tags.some((tag) => tags.includes(tag))),
  );
  if (shard !== undefined) left = left.filter(({ id }) => hashOf(id).readUInt32BE(0) % shard.of === shard.index - 1);
  if (sample !== undefined) left = drawn(left, sample);
  if (first !== undefined) left = left.slice(0, first);
  if (left.length === 0) throw new UsageError(`--only leaves none of the ${tasks.length} tasks.`);
  return left;
}

function drawn<Task extends Choosable>(tasks: readonly Task[], { count, seed }: NonNullable<Only['sample']>): Task[] {
  const keyed = tasks.map((task) => ({ id: task.id, key: hashOf(`${seed}\n${task.id}`).toString('hex') }));
  const chosen = new Set(
    keyed
      .sort((a, b) => (a.key < b.key ? -1 : 1))
      .slice(0, count)
      .map(({ id }) => id),
  );
  return tasks.filter(({ id }) => chosen.has(id));
}

/** An id may have commas itself: a text that is one is taken whole. */
function idsOf({ ids }: Only, tasks: readonly Choosable[]): ReadonlySet<string> | undefined {
  if (ids.length === 0) return undefined;
  const known = new Set(tasks.map(({ id }) => id));
  const wanted = ids.flatMap((text) => (known.has(text) ? [text] : listOf(text, 'ids')));
  const unknown = wanted.filter((id) => !known.has(id));
  const [first] = unknown;
  if (first === undefined) return new Set(wanted);
  const more = unknown.length > 1 ? ` (and ${unknown.length - 1} more)` : '';
  throw new UsageError(
    `--only ids: no task has the id ${JSON.stringify(printable(first, 100))}${more}.${didYouMean(first, known)}`,
  );
}

function checkTags(wanted: readonly string[], tasks: readonly Choosable[]): void {
  if (wanted.length === 0) return;
  const known = new Set(tasks.flatMap(({ tags }) => tags));
  const unknown = wanted.find((tag) => !known.has(tag));
  if (unknown === undefined) return;
  const listed = [...known].slice(0, 20).map((tag) => printable(tag, 40));
  throw new UsageError(
    `--only tag: no task has the tag ${JSON.stringify(printable(unknown, 100))}.${didYouMean(unknown, known)} Tags: ${listed.join(', ') || 'none'}.`,
  );
}

function once(earlier: Only, kind: 'first' | 'sample' | 'shard'): Only {
  if (earlier[kind] !== undefined) throw refusal(`${kind} is there already`);
  return earlier;
}

function listOf(value: string, kind: string): readonly string[] {
  const words = value.split(',').map((word) => word.trim());
  if (words.every((word) => word !== '')) return words;
  throw refusal(`${kind} takes one or several, as in ${kind}=a,b`);
}

function countOf(value: string, form: string): number {
  const count = Number(value);
  if (/^\d+$/.test(value) && Number.isSafeInteger(count) && count >= 1) return count;
  throw refusal(`the form is ${form}, with a whole number from 1`);
}

function sampleOf(value: string): NonNullable<Only['sample']> {
  const [, count = '', seed] = /^([^:]*)(?::(.+))?$/.exec(value) ?? [];
  return { count: countOf(count, 'sample=N or sample=N:seed'), seed: seed ?? '0' };
}

function shardOf(value: string): NonNullable<Only['shard']> {
  const [, index = '', of = ''] = /^(\d+)\/(\d+)$/.exec(value) ?? [];
  const shard = { index: countOf(index, 'shard=i/n'), of: countOf(of, 'shard=i/n') };
  if (shard.index <= shard.of) return shard;
  throw refusal(`shard ${value} is not one: the first is 1/${shard.of}, the last ${shard.of}/${shard.of}`);
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}

function refusal(fault: string): InvalidArgumentError {
  return new InvalidArgumentError(`${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`);
}
