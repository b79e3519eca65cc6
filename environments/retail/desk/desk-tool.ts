import { z } from 'zod';
import type { Database } from './database.ts';
import { DeskError } from './desk-error.ts';
import type { Order, Product, User, Variant } from './types.ts';

/** What a tool gives: a whole record as it is at the end of the call, or text. */
export type DeskResult = Order | User | Product | Variant | string;

/** One tool of the desk, apart from how it is served. */
export interface DeskTool {
  readonly name: string;
  readonly description: string;
  readonly isReadOnly: boolean;
  readonly args: z.ZodObject;
  /** @throws DeskError what the tool refuses, arguments that do not fit its schema among it; the database is as it was. */
  run(database: Database, args: unknown): DeskResult;
}

/** Declares a tool whose `run` gets the arguments in the type of its schema. */
export function deskTool<Shape extends z.ZodRawShape>(tool: {
  readonly name: string;
  readonly description: string;
  readonly isReadOnly: boolean;
  readonly args: Shape;
  run(database: Database, args: z.infer<z.ZodObject<Shape, z.core.$strict>>): DeskResult;
}): DeskTool {
  const args = z.strictObject(tool.args);
  return {
    ...tool,
    args,
    run(database, given) {
      const parsed = args.safeParse(given);
      if (!parsed.success) throw new DeskError(z.prettifyError(parsed.error));
      return tool.run(database, parsed.data);
    },
  };
}

export const orderIdArgument = z.string().describe("The order's id, with its leading '#'.");
export const newItemsArgument = z
  .array(z.string())
  .describe('Ids of the items that replace them, position by position.');
export const paymentMethodArgument = z
  .string()
  .describe("The id of one of the customer's own payment methods, from get_user_details.");
export const addressArguments = {
  address1: z.string().describe('Street and number.'),
  address2: z.string().describe('Apartment, suite or the like; an empty string where there is none.'),
  city: z.string().describe('The city.'),
  state: z.string().describe("The state's code, such as 'CA'."),
  country: z.string().describe("Such as 'USA'."),
  zip: z.string().describe("Such as '90210'."),
};
