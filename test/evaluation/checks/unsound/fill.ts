import { EnvironmentServer, type EnvironmentServerOptions, type ToolContext } from 'proctor';
import { z } from 'zod';
import type { EvaluationInput } from '../../../../src/environment/authoring/evaluation.ts';

/** The state of one session: how much lies on the shelf. */
export interface Shelf {
  count: number;
  calls: number;
}

/** Parts of the environment that a fault replaces. Without any it is sound. */
export interface FillParts {
  readonly options?: Partial<EnvironmentServerOptions>;
  readonly shelf?: Shelf;
  readonly prompt?: (count: number, shelf: Shelf, context: ToolContext) => string;
  readonly put?: (shelf: Shelf, count: number, context: ToolContext) => unknown;
  readonly evaluate?: (
    shelf: Shelf,
    count: number,
    answer: string,
    context: ToolContext,
  ) => EvaluationInput | Promise<EvaluationInput>;
  /** True: its evaluation cannot do without a judge. */
  readonly judge?: boolean;
  readonly solution?:
    | ((args: { readonly count: number }) => {
        readonly calls: readonly { readonly name: string; readonly arguments: { readonly count: number } }[];
        readonly answer: string;
      })
    | null;
  readonly putDescription?: string | undefined;
  readonly system?: string;
  /** False: setup leaves the shelf as it is. */
  readonly startsOver?: boolean;
  readonly more?: (env: EnvironmentServer, shelf: Shelf) => void;
}

const TASKS = [
  { id: 'some', args: { count: 411 } },
  { id: 'many', args: { count: 902 } },
];

/** A shelf that is to hold so much in the end: the state is graded, and not what the agent says. */
export function createFill(parts: FillParts = {}): EnvironmentServer {
  const shelf = parts.shelf ?? { count: 0, calls: 0 };
  const env = new EnvironmentServer({ name: 'shelf', sessionsPerProcess: 10, ...parts.options });
  const put = {
    ...('putDescription' in parts
      ? parts.putDescription === undefined
        ? {}
        : { description: parts.putDescription }
      : { description: 'Puts pieces on the shelf and gives how many lie there.' }),
    args: { count: z.int().min(1).max(100_000).describe('How many pieces.') },
  };
  env.tool('put', put, ({ count }, context) => {
    shelf.calls += 1;
    if (parts.put !== undefined) return parts.put(shelf, count, context);
    shelf.count += count;
    return shelf.count;
  });
  env.tool(
    'look',
    { description: 'Gives how many pieces lie on the shelf.', annotations: { readOnlyHint: true } },
    () => shelf.count,
  );
  parts.more?.(env, shelf);
  const solution =
    parts.solution ??
    (({ count }: { readonly count: number }) => ({
      calls: [{ name: 'put', arguments: { count } }],
      answer: 'It is filled.',
    }));
  env.scenario(
    'fill',
    {
      description: 'Fill the shelf.',
      args: { count: z.int().min(1).max(100_000).describe('How many pieces are wanted.') },
      tasks: TASKS,
      ...(parts.system !== undefined && { system: parts.system }),
      ...(parts.judge !== undefined && { judge: parts.judge }),
      ...(parts.solution !== null && { solution }),
    },
    async function* ({ count }, context) {
      if (parts.startsOver !== false) Object.assign(shelf, { count: 0, calls: 0 });
      const answer = yield parts.prompt?.(count, shelf, context) ?? `Put exactly ${count} pieces on the shelf.`;
      if (parts.evaluate !== undefined) return await parts.evaluate(shelf, count, answer, context);
      return { reward: shelf.count === count ? 1 : 0, info: { count: shelf.count } };
    },
  );
  return env;
}
