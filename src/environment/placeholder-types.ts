import type { HubCall } from './hub-scenario.ts';
import type { Prompt } from './prompt-messages.ts';
import type { AnySchema, ArgsInput } from './schema-types.ts';

/**
 * The halves of a scenario made of hub functions, as its call site wrote them: a placeholder that is no argument does not
 * compile. Texts that TypeScript knows as `string` alone are checked when the scenario is declared.
 */
export interface WrittenHalves<Args extends AnySchema, PromptText, SetupArgs, EvaluateArgs> {
  readonly prompt: Prompt & PromptText & NoInfer<Filled<PromptText, NamesOf<ArgsInput<Args>>>>;
  readonly setup: WrittenCall<SetupArgs, NamesOf<ArgsInput<Args>>>;
  readonly evaluate: WrittenCall<EvaluateArgs, NamesOf<ArgsInput<Args>> | 'answer'>;
}

interface WrittenCall<Template, Names> extends HubCall {
  readonly arguments?: Readonly<Record<string, unknown>> & Template & NoInfer<Filled<Template, Names>>;
}

/** The names of any of the forms that arguments may have. */
type NamesOf<Args> = Args extends unknown ? keyof Args : never;

/**
 * The template itself, unless a text in it has a placeholder without a value. A type with `string` in it says nothing of
 * its placeholders.
 */
type Filled<Template, Names> = [string] extends [Template]
  ? Template
  : Template extends string
    ? [Exclude<Placeholders<Template>, Names>] extends [never]
      ? Template
      : Refused<`{{${Exclude<Placeholders<Template>, Names>}}} is no argument of this scenario`>
    : Template extends object
      ? { readonly [Key in keyof Template]: Filled<Template[Key], Names> }
      : Template;

/** No text is such an object: the editor shows its sentence. */
interface Refused<Sentence> {
  readonly refused: Sentence;
}

/** As `PLACEHOLDER` of `hub-scenario.ts` finds them; none in a text that is not known. */
type Placeholders<Text extends string> = Text extends `${string}{{${infer Name}}}${infer Rest}`
  ? NameIn<Trimmed<Name>> | Placeholders<Rest>
  : never;

/** Braces and blanks are in no name: such a text is none, or one that the check at run time reads. */
type NameIn<Name extends string> = Name extends '' | `${string}${'{' | '}' | Blank}${string}` ? never : Name;

type Trimmed<Text extends string> = Text extends `${Blank}${infer Rest}` | `${infer Rest}${Blank}`
  ? Trimmed<Rest>
  : Text;

type Blank = ' ' | '\n' | '\t' | '\r';
