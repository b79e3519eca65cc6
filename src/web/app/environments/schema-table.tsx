import type { JsonSchema } from '../../../contract/json.ts';
import { JsonTree } from '../components/json-tree.tsx';
import { LongText } from '../components/long-text.tsx';
import { type SchemaRow, toSchemaRows } from './schema-rows.ts';

/** Choices that are shown of a field. */
const MOST_CHOICES = 40;

/** The fields of a schema as a table, and the schema itself, folded. */
export function SchemaTable({
  label,
  schema,
  none,
}: {
  readonly label: string;
  readonly schema: JsonSchema;
  /** Text for a schema without fields. */
  readonly none: string;
}) {
  const { rows, isCut } = toSchemaRows(schema);
  return (
    <div class="schema">
      {rows.length === 0 ? (
        <p class="quiet">{none}</p>
      ) : (
        <table class="schema-table" aria-label={label}>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Type</th>
              <th scope="col" class="wide-only">
                Default
              </th>
              <th scope="col">Description</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <Row key={index} row={row} />
            ))}
          </tbody>
        </table>
      )}
      {isCut ? <p class="quiet small">There are more fields, or deeper ones: the JSON has all of them.</p> : null}
      <details class="more">
        <summary>
          JSON Schema <span class="visually-hidden">{`of: ${label}`}</span>
        </summary>
        <JsonTree value={schema} />
      </details>
    </div>
  );
}

function Row({
  row: { path, name, type, isRequired, initial, choices, limits, description },
}: {
  readonly row: SchemaRow;
}) {
  return (
    <tr>
      <th scope="row">
        <code>
          {path === '' ? null : <span class="quiet">{path}</span>}
          {name}
        </code>
        {isRequired ? <span class="required">required</span> : null}
      </th>
      <td>
        <span class="type">{type}</span>
      </td>
      <td class="wide-only">{initial === undefined ? <span class="quiet">–</span> : <code>{initial}</code>}</td>
      <td>
        {description === '' ? null : <LongText text={description} />}
        {initial === undefined ? null : (
          <p class="narrow-only quiet small">
            Default <code>{initial}</code>
          </p>
        )}
        {choices.length === 0 ? null : (
          <p class="choices">
            {choices.slice(0, MOST_CHOICES).map((choice, index) => (
              <code key={index}>{choice}</code>
            ))}
            {choices.length > MOST_CHOICES ? (
              <span class="quiet">{`${choices.length - MOST_CHOICES} more`}</span>
            ) : null}
          </p>
        )}
        {limits.length === 0 ? null : <p class="quiet small">{limits.join(' · ')}</p>}
      </td>
    </tr>
  );
}
