import type { z } from 'zod';
import type { Json, JsonObject } from '../../../contract/json.ts';

/** A Standard Schema that also exposes its JSON Schema (`~standard.jsonSchema`). */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly jsonSchema: {
      readonly input: (options: { readonly target: string }) => Record<string, unknown>;
      readonly output: (options: { readonly target: string }) => Record<string, unknown>;
    };
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A schema of zod 3. It is recognised by its structure, because authors bring their own copy of zod. */
export interface Zod3Schema {
  readonly _input: unknown;
  readonly _output: unknown;
  readonly _def: { readonly typeName: string };
}

/** A plain JSON Schema object, draft 2020-12 unless its `$schema` says draft-07. */
interface PlainJsonSchema {
  readonly type: string;
  readonly [keyword: string]: unknown;
}

/** Every form of schema: zod 4 or its raw shape, a Standard Schema, zod 3, or plain JSON Schema. */
export type AnySchema = StandardSchema | Zod3Schema | PlainJsonSchema | z.core.$ZodShape;

/** The schema for no arguments, which is also the type of those arguments. */
export type NoArgs = Record<never, never>;

/**
 * The arguments that a handler receives: the output type of the schema. With plain JSON Schema they are a JSON object.
 */
export type ArgsOf<S extends AnySchema> = ArgsAt<S, 'output'>;

/** The arguments that a caller writes: the input type of the schema, in which fields with a default are optional. */
export type ArgsInput<S extends AnySchema> = ArgsAt<S, 'input'>;

export type OutputOf<S extends AnySchema> = TypeAt<S, 'output'>;

export type InputOf<S extends AnySchema> = TypeAt<S, 'input'>;

/**
 * The input type of a schema, for calls in which TypeScript also infers the schema. During inference TypeScript keeps a
 * literal (`'yes'` instead of `string`) only if the expected type may be a literal. `AnyValue` allows that.
 */
export type WrittenInput<S extends AnySchema> = unknown extends InputOf<S> ? AnyValue : InputOf<S>;

// biome-ignore lint/suspicious/noConfusingVoidType: a generator may return nothing
export type AnyValue = string | number | boolean | object | null | undefined | void | AnyLiteral;

type AnyLiteral = 'text' | 0 | true | readonly AnyLiteral[] | { readonly [name: string]: AnyLiteral };

/** The two types of a schema: `input` is the type before parsing, `output` the type after it. */
type End = 'input' | 'output';

type ArgsAt<S extends AnySchema, At extends End> = [keyof S] extends [never]
  ? NoArgs
  : S extends StandardSchema | Zod3Schema
    ? TypeAt<S, At>
    : S extends PlainJsonSchema
      ? JsonObject
      : TypeAt<S, At>;

type TypeAt<S extends AnySchema, At extends End> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly [Key in At]: infer Type }
    ? Type
    : never
  : S extends Zod3Schema
    ? S[`_${At}`]
    : S extends PlainJsonSchema
      ? Json
      : S extends z.core.$ZodShape
        ? { readonly input: z.input<z.ZodObject<S>>; readonly output: z.output<z.ZodObject<S>> }[At]
        : never;
