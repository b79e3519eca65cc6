import type { HubCall } from '../hub-scenario.ts';
import type { Prompt } from '../prompt-messages.ts';
import type { AnySchema, ArgsInput } from './schema-types.ts';

/**
 * The options of a scenario made of hub functions, with the types of their texts. A placeholder that is not an argument
 * does not compile. A text whose type is only `string` is checked when the scenario is declared.
 */
export interface WrittenHalves<Args extends AnySchema, PromptText, SetupArgs, EvaluateArgs> {
  readonly prompt: Prompt & PromptText & NoInfer<CheckedTemplate<PromptText, NamesOf<ArgsInput<Args>>>>;
  readonly setup: WrittenCall<SetupArgs, NamesOf<ArgsInput<Args>>>;
  readonly evaluate: WrittenCall<EvaluateArgs, NamesOf<ArgsInput<Args>> | 'answer'>;
}

interface WrittenCall<Template, Names> extends HubCall {
  readonly arguments?: Readonly<Record<string, unknown>> & Template & NoInfer<CheckedTemplate<Template, Names>>;
}

/** The argument names, of every alternative if the arguments are a union. */
type NamesOf<Args> = Args extends unknown ? keyof Args : never;

/**
 * The template itself, or an error type if one of its texts has a placeholder that is not an argument. The type
 * `string` tells nothing about placeholders and is accepted.
 */
type CheckedTemplate<Template, Names> = [string] extends [Template]
  ? Template
  : Template extends string
    ? [Exclude<Placeholders<Template>, Names>] extends [never]
      ? Template
      : PlaceholderError<`{{${Exclude<Placeholders<Template>, Names>}}} is no argument of this scenario`>
    : Template extends object
      ? { readonly [Key in keyof Template]: CheckedTemplate<Template[Key], Names> }
      : Template;

/** An error type. A text never matches it, so the editor shows the sentence. */
interface PlaceholderError<Sentence> {
  readonly refused: Sentence;
}

/** The names of the placeholders, found as by `PLACEHOLDER` in `hub-scenario.ts`. The type `string` has none. */
type Placeholders<Text extends string> = Text extends `${string}{{${infer Name}}}${infer Rest}`
  ? NameIn<Trimmed<Name>> | Placeholders<Rest>
  : never;

/** Names contain no braces and no blanks. A text with them is not a placeholder, or is checked at run time. */
type NameIn<Name extends string> = Name extends '' | `${string}${'{' | '}' | Blank}${string}` ? never : Name;

type Trimmed<Text extends string> = Text extends `${Blank}${infer Rest}` | `${infer Rest}${Blank}`
  ? Trimmed<Rest>
  : Text;

type Blank = ' ' | '\n' | '\t' | '\r';
