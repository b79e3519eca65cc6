import { z } from 'zod';
import { calculate } from './calculate.ts';
import { addressArguments, deskTool } from './desk-tool.ts';
import { findUser } from './lookups.ts';

/** The customer's account, arithmetic, and the way out to a person. */
export const otherTools = [
  deskTool({
    name: 'modify_user_address',
    description:
      "Replaces the address of a customer's account; the addresses of orders stay. Ask the customer to confirm first.",
    isReadOnly: false,
    args: { user_id: z.string().describe('The user id, as the find tools give it.'), ...addressArguments },
    run(database, { user_id, ...address }) {
      const user = { ...findUser(database, user_id), address };
      database.saveUser(user);
      return user;
    },
  }),
  deskTool({
    name: 'calculate',
    description: 'Evaluates an arithmetic expression and gives the value rounded to two decimals, as text.',
    isReadOnly: true,
    args: { expression: z.string().describe("Numbers, + - * / and brackets, such as '(12.50 + 7.25) * 2'.") },
    run: (_database, { expression }) => calculate(expression),
  }),
  deskTool({
    name: 'transfer_to_human_agents',
    description:
      "Hands the customer over to a human agent. Only for what the desk's rules and tools do not allow you to settle.",
    isReadOnly: true,
    args: { summary: z.string().describe('What the customer wants and what has been done, in a few sentences.') },
    run: () => 'Transfer successful',
  }),
];
