import type { Json, JsonSchema } from '../../../contract/json.ts';
import { type Field, toField, toSchemaFields } from '../environments/form-values.ts';
import { FieldForm } from './field-form.tsx';

/** The answer of a scenario: fields of its schema, or a text where it has none. */
export function AnswerForm({
  schema,
  isRunning,
  onAnswer,
}: {
  readonly schema: JsonSchema | null;
  readonly isRunning: boolean;
  onAnswer(answer: Json): void;
}) {
  const members = schema === null ? [] : toSchemaFields(schema);
  const whole = members.length > 0 ? undefined : toWhole(schema);
  return (
    <FieldForm
      label="Answer"
      fields={whole === undefined ? members : [whole]}
      submit="Submit the answer"
      isRunning={isRunning}
      onSubmit={(values) => onAnswer((whole === undefined ? values : (values[whole.name] ?? null)) as Json)} // Read from JSON texts.
    />
  );
}

function toWhole(schema: JsonSchema | null): Field {
  const about = { name: 'answer', isRequired: true, description: '' };
  return schema === null ? { ...toField(about, { type: 'string' }, {}), kind: 'text' } : toField(about, schema, schema);
}
