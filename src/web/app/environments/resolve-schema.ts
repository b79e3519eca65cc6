import type { JsonSchema } from '../../../contract/json.ts';

/** References that are followed one after the other: a schema may refer to itself. */
const MOST_REFERENCES = 8;

/** A schema as it is read: where it refers to, with all that it is made of, and whether null will do as well. */
export interface ResolvedSchema {
  readonly schema: JsonSchema;
  readonly isNullable: boolean;
}

/** Resolves references and combinations of a schema. `true` and invalid schemas become empty ones. */
export function resolveSchema(given: unknown, root: JsonSchema, depth = 0): ResolvedSchema {
  const schema = joinParts(follow(given, root), root);
  const options = optionsOf(schema);
  const others = options.filter((option) => follow(option, root).type !== 'null');
  // Its only choice may be the schema itself again.
  if (others.length === 1 && options.length > 1 && depth < MOST_REFERENCES) {
    const { anyOf, oneOf, ...about } = schema;
    const { schema: only } = resolveSchema(others[0], root, depth + 1);
    return { schema: { ...only, ...about }, isNullable: true };
  }
  if (Array.isArray(schema.type) && schema.type.includes('null')) {
    const types = schema.type.filter((type) => type !== 'null');
    return { schema: { ...schema, type: types.length === 1 ? types[0] : types }, isNullable: true };
  }
  return { schema, isNullable: false };
}

/** The schemas of which one will do; none where there is nothing to choose from. */
export function optionsOf({ anyOf, oneOf }: JsonSchema): readonly unknown[] {
  if (Array.isArray(anyOf)) return anyOf;
  return Array.isArray(oneOf) ? oneOf : [];
}

/** The values that are allowed, where they are listed. */
export function choicesOf(schema: JsonSchema): readonly unknown[] {
  const { enum: values, const: only, type } = schema;
  if (Array.isArray(values)) return values;
  if (only !== undefined) return [only];
  if (type === 'boolean') return [true, false];
  const constants = optionsOf(schema).map((option) => (isSchema(option) ? option.const : undefined));
  return constants.includes(undefined) ? [] : constants;
}

export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function follow(given: unknown, root: JsonSchema): JsonSchema {
  let schema = isSchema(given) ? given : {};
  for (let count = 0; typeof schema.$ref === 'string' && count < MOST_REFERENCES; count++) {
    const { $ref, ...about } = schema;
    const target = find(String($ref), root);
    schema = { ...(isSchema(target) ? target : {}), ...about };
  }
  return schema;
}

/** Only what is in the schema itself: nothing is ever fetched. */
function find(reference: string, root: JsonSchema): unknown {
  const [start, ...path] = reference.split('/');
  if (start !== '#') return undefined;
  let found: unknown = root;
  for (const part of path) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    found = isSchema(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return found;
}

function joinParts(schema: JsonSchema, root: JsonSchema): JsonSchema {
  if (!Array.isArray(schema.allOf)) return schema;
  const { allOf, ...own } = schema;
  const parts = [...schema.allOf.map((part) => follow(part, root)), own];
  return {
    ...join(parts),
    ...(parts.some(({ properties }) => isSchema(properties))
      ? { properties: join(parts.map(({ properties }) => properties)) }
      : {}),
    required: parts.flatMap(({ required }) => (Array.isArray(required) ? required : [])),
  };
}

/** Not assigned, because a field may be named `__proto__`. */
function join(objects: readonly unknown[]): JsonSchema {
  return Object.fromEntries(objects.flatMap((each) => (isSchema(each) ? Object.entries(each) : [])));
}
