import { createHash } from 'node:crypto';
import { EnvironmentServer } from 'proctor';
import { z } from 'zod';
import type { EvaluationInput } from '../../../../src/environment/authoring/evaluation.ts';

/** Parts of the environment that a fault replaces. Without any it is sound. */
export interface FindParts {
  readonly prompt?: (name: string, code: string) => string;
  readonly evaluate?: (answer: string, code: string) => EvaluationInput;
  readonly system?: (code: string) => string;
  readonly more?: (env: EnvironmentServer, codeOf: (name: string) => string) => void;
}

const PEOPLE = ['Ada', 'Grace'];
const PAGES = 500;

/** A book of codes, of which one is asked for: the answer is graded. */
export function createFind({ prompt, evaluate, system, more }: FindParts = {}): EnvironmentServer {
  const env = new EnvironmentServer({ name: 'book', sessionsPerProcess: 10 });
  env.tool(
    'read_page',
    {
      description: 'Gives the text of a page.',
      args: { page: z.int().min(1).max(PAGES).describe('Its number.') },
      annotations: { readOnlyHint: true },
    },
    ({ page }) => {
      const name = PEOPLE.find((each) => pageOf(each) === page);
      return name === undefined ? 'This page is empty.' : `The code of ${name} is ${codeOf(name)}.`;
    },
  );
  more?.(env, codeOf);
  env.scenario(
    'find',
    {
      description: 'Find the code of somebody.',
      args: { name: z.enum(['Ada', 'Grace']).describe('Whose code.') },
      tasks: PEOPLE.map((name) => ({ id: name.toLowerCase(), args: { name: name as 'Ada' } })),
      ...(system !== undefined && { system: system(codeOf('Ada')) }),
      solution: ({ name }) => ({
        calls: [{ name: 'read_page', arguments: { page: pageOf(name) } }],
        answer: codeOf(name),
      }),
    },
    async function* ({ name }) {
      const code = codeOf(name);
      const answer = yield prompt?.(name, code) ?? `Which code does ${name} have? Answer with the code alone.`;
      if (evaluate !== undefined) return evaluate(answer, code);
      return answer.trim() === code;
    },
  );
  return env;
}

function hashOf(name: string): string {
  return createHash('sha256').update(name).digest('hex');
}

function codeOf(name: string): string {
  return `K${hashOf(name).slice(0, 10)}`;
}

function pageOf(name: string): number {
  return (Number.parseInt(hashOf(name).slice(0, 6), 16) % PAGES) + 1;
}
