import { setTimeout as delay } from 'node:timers/promises';
import { EnvironmentServer, serveMain, ToolError } from 'proctor';
import { z } from 'zod';

/** Called once for each session: these balances are one agent's. */
export default function bank() {
  const balances = new Map([
    ['ada', 100],
    ['bob', 20],
  ]);
  const env = new EnvironmentServer({ name: 'bank', version: '1.0.0', instructions: 'The accounts of ada and bob.' });

  function balanceOf(account: string): number {
    const balance = balances.get(account);
    if (balance !== undefined) return balance;
    throw new ToolError(`There is no account "${account}". There are: ${[...balances.keys()].join(', ')}`);
  }

  env.tool(
    'transfer',
    {
      description: 'Moves money from one account to another, and gives both balances.',
      args: { from: z.string(), to: z.string(), amount: z.int().positive().describe('In whole euros.') },
      returns: z.object({ from: z.int(), to: z.int() }),
      annotations: { destructiveHint: true },
    },
    async ({ from, to, amount }, ctx) => {
      balanceOf(to);
      if (balanceOf(from) < amount) throw new ToolError(`${from} holds only ${balanceOf(from)}.`);
      ctx.progress(50, 100, 'The money is on its way.');
      await delay(5, undefined, { signal: ctx.signal });
      balances.set(from, balanceOf(from) - amount).set(to, balanceOf(to) + amount);
      ctx.log(`${amount} from ${from} to ${to}`);
      return { from: balanceOf(from), to: balanceOf(to) };
    },
  );

  env.addTool({
    name: 'balance',
    description: 'Gives what an account holds.',
    args: { account: z.string() },
    annotations: { readOnlyHint: true },
    handler: ({ account }) => balanceOf(account),
  });

  return env;
}

serveMain(import.meta, bank);
